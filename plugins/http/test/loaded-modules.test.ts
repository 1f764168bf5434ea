import { execFileSync } from 'node:child_process'
import t from 'tap'

t.test('loading the plugin loads neither TypeBox nor the WebSocket client of Node.js', async (t) => {
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    await import('${import.meta.resolve('@plinth/http')}')
    const typebox = loaded.filter((url) => url.includes('/typebox/'))
    const client = process.moduleLoadList.filter((name) => name.includes('undici'))
    console.log(JSON.stringify({ isLoaded: loaded.length > 50, typebox, client }))`
  const response = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 300_000,
  })
  t.same(JSON.parse(response), { isLoaded: true, typebox: [], client: [] })
})
