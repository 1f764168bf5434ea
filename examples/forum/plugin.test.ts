import databasePlugin from '@plinth/database'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import iamPlugin, { accounts } from '@plinth/iam'
import { defineProduct, kernel, quickstartCleanup } from '@plinth/kernel'
import cleanupPlugin from '@plinth/quickstart-cleanup'
import t, { type Test } from 'tap'
import forumPlugin, { forum } from './plugin.ts'

const administrator = { username: 'admin', password: 'correct horse battery staple' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const ada = { userId: 7, name: 'ada' }
const path = '/api/v1/admin/install/quickstart-cleanups/forum'

async function startForum(t: Test, db: TestDatabase) {
  const product = defineProduct({
    name: 'community',
    plugins: [databasePlugin, eventsPlugin, httpPlugin, iamPlugin, cleanupPlugin, forumPlugin],
    config: {
      ...db.config,
      'platform.http.port': 0,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
    },
  })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  await running.service(accounts).createAdministrator(administrator, origin)
  const server = running.service(http)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  const boards = running.service(forum)
  return {
    boards,
    /** Returns the titles of all demo boards. */
    async demoTitles() {
      const demo = (await boards.boards()).filter((board) => board.demo)
      return Promise.all(demo.map(({ id }) => boards.titles(id)))
    },
    preview: async () => (await server.inject({ url: path, headers })).json().data,
    async clean() {
      const payload = { moduleCode: 'forum', dataType: 'demo-boards', confirmation: 'CLEAN-FORUM' }
      const response = await server.inject({ method: 'POST', url: path, headers, payload })
      return response.json().data.modules[0]
    },
  }
}

onDatabase(t, 'I-173 I-176 I-180 demo data is added and removed, and real data stays', async (t: Test, db) => {
  const { boards, demoTitles, preview, clean } = await startForum(t, db)
  const real = await boards.createBoard('Garden')
  await boards.post(real, ada, 'Tomatoes in November')
  t.hasStrict(await preview(), { moduleName: 'Forum', state: 'clean', executable: false })

  t.equal(await boards.seedDemo(), 2)
  t.equal(await boards.seedDemo(), 0, 'the demo data comes once')
  assertMembers(t, await preview(), {
    state: 'ready',
    executable: true,
    targets: [
      { type: 'boards', count: 2 },
      { type: 'posts', count: 5 },
    ],
    blockers: [],
  })
  assertMembers(t, await clean(), {
    outcome: 'cleaned',
    removed: [
      { type: 'posts', count: 5 },
      { type: 'boards', count: 2 },
    ],
  })
  t.same(await demoTitles(), [])
  t.same(await boards.titles(real), ['Tomatoes in November'])
  t.hasStrict(await clean(), { outcome: 'clean', executed: false })
})

onDatabase(t, 'I-177 posts of users on a demo board block the removal', async (t: Test, db) => {
  const { boards, demoTitles, preview, clean } = await startForum(t, db)
  await boards.seedDemo()
  const [first] = await boards.boards()
  await boards.post(first?.id ?? 0, ada, 'Thank you for the rules')
  assertMembers(t, await preview(), {
    state: 'blocked',
    executable: false,
    blockers: [{ code: 'real-posts', count: 1 }],
  })
  t.match(await clean(), { outcome: /^blocked$/, executed: false, targetCount: 7, message: /Nothing was removed/ })
  t.same(await demoTitles(), [
    ['Welcome to the forum', 'House rules', 'Thank you for the rules'],
    ['How do I follow a board?', 'Where do I change my name?', 'Can I write in Chinese?'],
  ])
})

onDatabase(
  t,
  'I-179 a foreign key protects a board that somebody follows, and all posts are restored',
  async (t: Test, db) => {
    const { boards, demoTitles, preview, clean } = await startForum(t, db)
    await boards.seedDemo()
    const before = await demoTitles()
    const last = (await boards.boards()).at(-1)
    await boards.subscribe(last?.id ?? 0, 'ada')
    t.match(await preview(), { executable: true }, 'the module does not know of followers')
    assertMembers(t, await clean(), { outcome: 'failed', executed: true, errorKey: 'foreign-key', removed: [] })
    t.same(await demoTitles(), before)
    t.match(await preview(), { executable: true, targetCount: 7 })
  },
)

onDatabase(t, 'I-004 the module works without the plugin that removes demo data', async (t: Test, db) => {
  const product = defineProduct({
    name: 'plain',
    plugins: [databasePlugin, eventsPlugin, forumPlugin],
    config: db.config,
  })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  t.equal(await running.service(forum).seedDemo(), 2)
  t.same([...running.service(kernel).contributions(quickstartCleanup).keys()], ['forum'])
})
