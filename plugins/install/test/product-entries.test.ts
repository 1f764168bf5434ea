/** Tests that the links at the end of the installation lead only to existing pages. */
import { createDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { type StartSettings, startInstall } from './fixtures/product.ts'

async function start(t: Test, settings: StartSettings = {}) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return startInstall(t, db, settings)
}

/** Plugin with a back office, and a chat that redirects to its own login. */
const pages = definePlugin({
  id: 'probe.pages',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  setup({ services }) {
    const page = { method: 'GET', summary: 'A page', access: 'public', hidden: true, produces: ['text/html'] } as const
    services.http.rawRoute({ ...page, path: '/admin/', handler: (_request, _, reply) => reply.send('<h1>Hi') })
    services.http.rawRoute({ ...page, path: '/chat/*', handler: (_request, _, reply) => reply.redirect('/login') })
  },
})

t.test('I-202 an installed product lists the pages that it serves', async (t) => {
  const { look, execute } = await start(t, { plugins: [pages] })
  t.same((await look('entries')).data.entries, [], 'nothing before')
  await execute()
  t.same((await look('entries')).data.entries, ['admin', 'chat', 'docs'])
})

t.test('I-202 and the pages that a proxy serves beside it', async (t) => {
  const config = { 'platform.view.entries': ['pc', 'app'], 'platform.http.context-path': '/ctx' }
  const { call, execute, form } = await start(t, { config })
  await execute()
  t.ok(form)
  const { data } = await call('GET', '/ctx/api/v1/install/entries')
  t.same(data.entries, ['app', 'pc', 'docs'])
})

t.test('I-202 a protected product does not list the installer as a page', async (t) => {
  const { look, execute } = await start(t, { config: { 'platform.install.access-protection-enabled': true } })
  await execute()
  t.same((await look('entries')).data.entries, ['docs'])
})

t.test('I-202 a page that fails once is found when it works', async (t) => {
  let fails = true
  const shaky = definePlugin({
    id: 'probe.shaky',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    setup({ services }) {
      const page = { method: 'GET', path: '/pc/', summary: 'A page', access: 'public', hidden: true } as const
      services.http.rawRoute({
        ...page,
        produces: ['text/html'],
        handler: (_request, _, reply) => reply.code(fails ? 503 : 200).send('<h1>Hi'),
      })
    },
  })
  const { look, execute } = await start(t, { plugins: [shaky] })
  await execute()
  t.same((await look('entries')).data.entries, ['docs'])
  fails = false
  t.same((await look('entries')).data.entries, ['pc', 'docs'])
})
