/** Tests that commands show the routes of plugins that load only in a server. */
import { join } from 'node:path'
import { programEnvironment } from '@plinth/dev/testing'
import t from 'tap'
import { runProgram } from '../kernel/src/cli/program.ts'

const productFile = `
import httpPlugin, { http, Type } from '@plinth/http'
import { definePlugin, defineProduct } from '@plinth/kernel'
const hidden = definePlugin({
  id: 'acme.w', version: '1.0.0', kernel: '^1.0.0', roles: ['web'], requires: { http },
  setup({ services }) {
    const route = { method: 'GET', path: '/api/v1/acme/w', summary: 'W', access: 'public', response: Type.Null() }
    services.http.route({ ...route, handler: () => null })
  },
})
export default defineProduct({ name: 'roles', plugins: [httpPlugin, hidden] })
`

t.test('C-047 a route of a plugin that loads only in the role web is described and locked', async (t) => {
  const directory = t.testdir({ 'plinth.config.ts': productFile })
  const plinth = async (...words: string[]) => {
    let stdout = ''
    const code = await runProgram(['--product', join(directory, 'plinth.config.ts'), ...words, '--json'], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: () => {} },
      environment: programEnvironment(),
      directory,
    })
    t.equal(code, 0, words.join(' '))
    return JSON.parse(stdout)
  }
  t.ok((await plinth('openapi')).paths['/api/v1/acme/w'], 'openapi')
  const routes: { readonly path: string; readonly plugin: string }[] = await plinth('routes')
  t.ok(
    routes.some(({ path, plugin }) => path === '/api/v1/acme/w' && plugin === 'acme.w'),
    'routes',
  )
  await plinth('plugins', 'lock')
  const { plugins } = await import(join(directory, 'plinth.lock.json'), { with: { type: 'json' } }).then(
    (module) => module.default,
  )
  t.strictSame(plugins['acme.w'].entries.routes?.length, 1, 'plugins lock')
})
