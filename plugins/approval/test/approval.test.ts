/** Tests who may perform the steps of a workflow, and which records are stored. */
import approval, { type ApprovalRequest, approvals, approvalWorkflow } from '@plinth/approval'
import databasePlugin, { database } from '@plinth/database'
import { assertKeyEffect, assertMembers, type KeyValues, manualClock, rejectsWith } from '@plinth/dev/testing'
import {
  createDatabase,
  onDatabase,
  startMigrated,
  type TestDatabase,
  watchStatements,
} from '@plinth/dev/testing/database'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { definePlugin, defineProduct } from '@plinth/kernel'
import t, { type Test } from 'tap'

const administrator = { username: 'admin', password: 'correct horse battery staple' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }

const shop = definePlugin({
  id: 'shop',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [approvalWorkflow],
  setup({ contribute }) {
    const displayName = { en: 'Refunds', 'zh-CN': '退款' }
    contribute(approvalWorkflow, 'shop.refund', {
      displayName,
      actions: {
        pay: { displayName, from: ['reviewed', 'retried'], permission: 'shop:refund:execute' },
        note: { displayName, from: ['reviewed'] },
      },
    })
  },
})

async function start(t: Test, db: TestDatabase, config: KeyValues = {}, clock = manualClock(Date.UTC(2026, 5, 1))) {
  const product = defineProduct({
    name: 'test',
    plugins: [approval, databasePlugin, httpPlugin, i18nPlugin, iamPlugin, shop],
    config: {
      ...db.config,
      'platform.http.port': 0,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      ...config,
    },
  })
  const running = await startMigrated(product, { clock })
  t.teardown(() => running.stop('test ended'))
  await running.service(accounts).createAdministrator(administrator, origin)
  const server = running.service(http)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  return {
    running,
    clock,
    guard: running.service(approvals),
    list: async (query = '', as: Record<string, string> = headers, language = 'en') =>
      (
        await server.inject({
          url: `/api/v1/admin/approvals${query}`,
          headers: { ...as, 'accept-language': language },
        })
      ).json(),
  }
}

const step = (change: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  workflow: 'shop.refund',
  action: 'pay',
  source: { type: 'refund', id: '4711', state: 'reviewed' },
  permissions: ['shop:refund:execute'],
  actor: { userId: 7 },
  traceId: 'trace-1',
  ...change,
})

onDatabase(
  t,
  'S-054 a step passes only with the right action, source state and permission snapshot',
  async (t: Test, db) => {
    const { guard, list } = await start(t, db)
    t.match(await guard.assert(step()), { result: 'approved', action: 'pay', source: { id: '4711' } })
    await guard.assert(step({ source: { type: 'refund', id: 'no such thing', state: 'retried' } }))
    await guard.assert(step({ action: 'note', permissions: [], actor: { name: 'task' } }))

    const rejected = (request: ApprovalRequest, code: string, reason: string) =>
      rejectsWith(t, guard.assert(request), { code, reason: `approval.${reason}` })
    await rejected(step({ workflow: 'shop.sale' }), '404', 'workflow-unknown')
    await rejected(step({ action: 'toString' }), '400', 'action-unknown')
    await rejected(step({ source: { type: 'refund', id: '4711', state: 'paid' } }), '409', 'state-not-allowed')
    await rejected(step({ permissions: ['shop:refund:view'] }), '403', 'permission-missing')

    const { data } = await list()
    t.equal(data.total, 7, 'refusals are kept too')
    assertMembers(t, data.items[0], {
      result: 'refused',
      reason: 'approval.permission-missing',
      permissions: ['shop:refund:view'],
      actorUserId: 7,
      actorName: null,
      sourceState: 'reviewed',
    })
    t.match(data.items[4], { result: 'approved', reason: null, actorUserId: null, actorName: 'task' })
    t.equal(data.items[4].actionName, 'Refunds')
    t.equal((await list('', undefined, 'zh-CN')).data.items[4].actionName, '退款', 'in the language of the reader')
    t.equal((await list('?workflow=shop.sale')).data.total, 1)
    t.equal((await list('?sourceType=refund&sourceId=4711')).data.total, 6)
    t.equal((await list('?sourceId=other')).data.total, 7, 'an id alone names nothing')
  },
)

onDatabase(t, 'S-054 a rejection is stored although it makes the surrounding transaction fail', async (t: Test, db) => {
  const { guard, list, running } = await start(t, db)
  await rejectsWith(t, guard.assert(step({ permissions: [] })), { code: '403' })
  await t.rejects(
    running.service(database).transactional(async () => {
      await guard.assert(step())
      throw new Error('the step failed')
    }),
  )
  t.equal((await list()).data.total, 1, 'an approval of a step that did not happen is none')
})

onDatabase(t, 'approvals are read with an index and removed after their retention', async (t: Test, at) => {
  const { guard, list, running, clock } = await start(t, at, { 'platform.approval.retention': '30d' })
  const db = running.service(database)
  for (let index = 0; index < 30; index++) {
    await guard.assert(step({ source: { type: 'refund', id: String(index % 3), state: 'reviewed' } }))
  }
  const { plansOf } = watchStatements(db, 'approval_instance')
  const filters = ['workflow=shop.refund', 'sourceType=refund', 'sourceType=refund&sourceId=1']
  for (const query of ['?count=none', ...filters.map((filter) => `?${filter}&count=none`)]) {
    for (const { sql, sorts, scans, indexes } of await plansOf(() => list(query))) {
      t.notOk(sorts, sql)
      t.ok(scans.length === 0 || (indexes.length === 0 && query === '?count=none'), `${query}: ${sql} ${scans}`)
    }
  }
  await clock.advance(31 * 86_400_000)
  await guard.assert(step())
  const purge = running.scheduledTasks.find(({ name }) => name === 'approval.purge')
  await purge?.run(new AbortController().signal)
  t.equal((await db.query('select id from approval_instance')).length, 1)
})

t.test('an approval is stored as long as its retention', async (t) => {
  const [stored] = await assertKeyEffect(t, 'platform.approval.retention', {
    changed: '30d',
    observe: async (config) => {
      const at = await createDatabase('sqlite')
      t.teardown(() => at.drop())
      const { guard, running, clock } = await start(t, at, config)
      await guard.assert(step())
      await clock.advance(31 * 86_400_000)
      const purge = running.scheduledTasks.find(({ name }) => name === 'approval.purge')
      await purge?.run(new AbortController().signal)
      return (await running.service(database).query('select id from approval_instance')).length
    },
  })
  t.match(stored, { before: 1, after: 0 })
})
