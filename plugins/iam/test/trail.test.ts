import { database } from '@plinth/database'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import { http } from '@plinth/http'
import { userDeleted } from '@plinth/iam'
import {
  type AuditEntry,
  auditFieldsOfCaller,
  definePlugin,
  kernel,
  key,
  service,
  writeAuditEntry,
} from '@plinth/kernel'
import { auditTrail } from '@plinth/kernel/host'
import t from 'tap'
import { Type } from 'typebox'
import { scopeAudits } from '../src/migrations/0005-scope-audits.ts'
import { foldNamesMoreStrictly } from '../src/migrations/0006-refold-names.ts'
import { startIam, system } from './fixtures/product.ts'

interface Shop {
  /** Records an entry in a transaction. The transaction fails if `fails` is true. */
  record(entry: AuditEntry, fails?: boolean): Promise<void>
  readonly deleted: number[]
}
const shop = service<Shop>('shop')

/** This plugin depends only on the kernel and the events, not on the identity plugin. */
const shopPlugin = definePlugin({
  id: 'shop',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { kernel, http, database, events },
  provides: [shop],
  permissions: [{ code: 'shop:order:save', displayName: { en: 'Save orders', 'zh-CN': '保存订单' } }],
  config: { 'platform.shop.key': key.string({ title: 'Key', default: 'planted-secret-1', sensitive: true }) },
  setup({ services, provide }) {
    const deleted: number[] = []
    services.events.on(userDeleted, 'shop.forget', ({ payload, key: under }) => {
      if (under === `user:${payload.userId}`) deleted.push(payload.userId)
    })
    services.http.route({
      method: 'POST',
      path: '/api/v1/admin/shop/orders/:name/close',
      summary: 'Close',
      access: { permission: 'shop:order:save', scope: 'none' },
      request: { params: Type.Object({ name: Type.String() }) },
      response: Type.Null(),
      async handler(request) {
        const subject = request.params.name
        await writeAuditEntry(services.kernel, { ...auditFieldsOfCaller(request), action: 'order.close', subject })
        return null
      },
    })
    provide(shop, {
      deleted,
      record: (entry, fails = false) =>
        services.database.transactional(async () => {
          await writeAuditEntry(services.kernel, entry)
          if (fails) throw new Error('rolled back')
        }),
    })
  },
})

onDatabase(t, 'K-006 other plugins record their actions, in their transaction, without secrets', async (t, db) => {
  const iam = await startIam(t, db, { plugins: [shopPlugin, eventsPlugin] })
  const token = await iam.administrator()
  const { record } = iam.running.service(shop)
  const list = async (query: string) =>
    (await iam.call('GET', `/api/v1/admin/iam/audits?${query}`, { token })).data.items
  const admin = (await iam.accounts.findByUsername('admin'))?.id

  t.equal((await iam.call('POST', '/api/v1/admin/shop/orders/spring-sale/close', { token })).code, '200')
  assertMembers(t, await list('targetType=order&targetName=spring-sale'), [
    {
      actor: `user:${admin}`,
      action: 'order.close',
      targetType: 'order',
      targetId: null,
      targetName: 'spring-sale',
      clientIp: '127.0.0.1',
      traceId: /./,
      summary: {},
    },
  ])
  const summary = { count: 3, done: true, nothing: null, text: 'with planted-secret-1', list: ['planted-secret-1', 4] }
  await record({ actor: { name: 'cli' }, action: 'order.import', subject: 4711, summary })
  assertMembers(t, await list('targetType=order&targetId=4711'), [
    {
      actor: 'cli',
      targetId: 4711,
      targetName: null,
      summary: { count: 3, done: true, nothing: null, text: 'with ******', list: ['******', 4] },
    },
  ])
  await record({ actor: { name: 'x'.repeat(100) }, action: 'product.restart', subject: '密'.repeat(300) })
  const [cut] = await list('action=product.restart')
  t.same([cut.actor.length, cut.targetName.length], [64, 200])
  await t.rejects(record({ actor: { name: 'cli' }, action: 'order.lost' }, true))
  t.same(await list('action=order.lost'), [], 'rolled back together')
})

onSqlite(t, 'a record is described in words, in the language of the reader', async (t, db) => {
  const iam = await startIam(t, db, { plugins: [shopPlugin, eventsPlugin] })
  const token = await iam.administrator()
  const { record } = iam.running.service(shop)
  const get = (path: string, language = 'en') => iam.call('GET', `/api/v1/admin/iam/audits${path}`, { token, language })
  const newest = async (query: string, language?: string) => {
    const [{ id }] = (await get(`?${query}`)).data.items
    return (await get(`/${id}`, language)).data
  }
  const body = { code: 'clerk', name: 'Clerk', dataScope: 'self', permissions: ['iam:user:view'] }
  const role = (await iam.call('POST', '/api/v1/admin/iam/roles', { token, body })).data
  const changed = { name: 'Clerks', dataScope: 'org', permissions: ['iam:role:view'], version: role.version }
  t.equal((await iam.call('PUT', `/api/v1/admin/iam/roles/${role.id}`, { token, body: changed })).code, '200')

  const plain = { name: null, labels: null, page: null, unit: null }
  const english = await newest('action=role.update')
  t.match(english, {
    actionName: 'Role: Change',
    targetKind: 'Role',
    target: { value: String(role.id), name: 'Clerks', labels: 'iam.role', page: 'iam.role', unit: null },
  })
  const permission = (value: string[]) => ({ ...plain, value, labels: 'iam.permission' })
  const change = (title: string, before: object | null, after: object) => ({
    title,
    subject: { ...plain, value: title },
    before,
    after,
  })
  t.strictSame(english.changes, [
    change('Code', null, { ...plain, value: 'clerk' }),
    change('Name', { ...plain, value: 'Clerk' }, { ...plain, value: 'Clerks' }),
    change('Data scope', { ...plain, value: 'Own data' }, { ...plain, value: 'Data of the organisation' }),
    change('Permissions', permission(['iam:user:view']), permission(['iam:role:view'])),
    change('Added permissions', null, permission(['iam:role:view'])),
    change('Removed permissions', null, permission(['iam:user:view'])),
  ])
  const chinese = await newest('action=role.update', 'zh-CN')
  t.match(chinese, { actionName: '角色: 修改', targetKind: '角色' })
  t.match(chinese.changes[2], { title: '数据范围', after: { value: '本组织数据' } })

  // The plugin describes none of its actions, so the names are derived from the codes of the action and of the fields.
  const summary = { totalAmount: 1234, isPaid: true }
  await record({ actor: { name: 'cli' }, action: 'sales-order.mark-paid', subject: 'spring', summary })
  assertMembers(t, await newest('action=sales-order.mark-paid'), {
    actionName: 'Sales order: Mark paid',
    target: { ...plain, value: 'spring' },
    changes: [
      { title: 'Total amount', after: { ...plain, value: '1,234' } },
      { title: 'Is paid', after: { ...plain, value: 'Yes' } },
    ],
  })
  // Names of members that every JavaScript object inherits are ordinary texts.
  const inherited = { reason: 'toString', constructor: 'valueOf' }
  await record({ actor: { name: 'cli' }, action: 'sales-order.constructor', subject: 'spring', summary: inherited })
  assertMembers(t, await newest('action=sales-order.constructor'), {
    actionName: 'Sales order: Constructor',
    changes: [
      { title: 'Reason', after: { ...plain, value: 'toString' } },
      { title: 'Constructor', after: { ...plain, value: 'valueOf' } },
    ],
  })
  t.equal((await get('/1')).code, '404')
})

t.test('without an audit nothing is recorded, and a failing audit stops the action', async (t) => {
  const none = { contributions: () => new Map() }
  await writeAuditEntry(none, { actor: { name: 'cli' }, action: 'order.close' })
  const failing = { contributions: () => new Map([['x', { record: () => Promise.reject(new Error('full')) }]]) }
  await rejectsWith(t, writeAuditEntry(failing as never, { actor: { name: 'cli' }, action: 'order.close' }), {
    message: 'full',
  })
  t.same(auditFieldsOfCaller({ clientIp: '1.2.3.4', traceId: 'x' }), {
    actor: { name: 'anonymous' },
    clientIp: '1.2.3.4',
    traceId: 'x',
  })
  t.equal(auditTrail.id, 'kernel.audit-trail')
})

onDatabase(t, 'A9 other plugins are told once about a deleted user, and only after the commit', async (t, db) => {
  const iam = await startIam(t, db, { plugins: [shopPlugin, eventsPlugin] })
  const token = await iam.administrator()
  const { deleted } = iam.running.service(shop)
  const admin = (await iam.accounts.findByUsername('admin'))?.id
  const mia = await iam.accounts.create({ username: 'mia', password: 'secret1' }, system)
  const remove = async (id: number | undefined) =>
    (await iam.call('DELETE', `/api/v1/admin/iam/users/${id}`, { token })).code
  t.equal(await remove(admin), '409', 'the last administrator stays')
  t.equal(await remove(mia.id), '200')
  t.equal(await remove(mia.id), '404')
  await iam.running.service(events).idle()
  t.same(deleted, [mia.id])
})

onDatabase(t, 'K-006 rows of earlier versions: audits get their user, names get their new form', async (t, db) => {
  const iam = await startIam(t, db)
  const token = await iam.administrator()
  const lead = await iam.accounts.create({ username: 'stra\u00dfe', password: 'secret1' }, system)
  const late = await iam.accounts.create({ username: 'm\u0131a', password: 'secret1' }, system)
  const store = iam.running.service(database)
  await iam.call('PUT', `/api/v1/admin/iam/users/${lead.id}`, { token, body: { enabled: true, orgId: 7 } })
  await store.execute('update iam_audit set actor_user_id = null')
  await store.execute('update iam_user set username_key = ? where id = ?', ['stra\u00dfe', lead.id])
  await store.execute('update iam_user set username_key = ? where id = ?', ['m\u0131a', late.id])
  await iam.accounts.create({ username: 'mia', password: 'secret2' }, system)

  const context = {
    db: store.fork().getKysely() as never,
    dialect: store.dialect,
    newId: () => store.newId(),
    now: Date.now,
    signal: new AbortController().signal,
  }
  for (const { data } of [scopeAudits, foldNamesMoreStrictly]) await data?.(context)
  const admin = (await iam.accounts.findByUsername('admin'))?.id
  const audits = await store.query<{ actor: string; user_id: unknown }>(
    'select actor, actor_user_id as user_id from iam_audit order by id',
  )
  t.same(
    audits.map((row) => [row.actor, Number(row.user_id)]),
    audits.map(({ actor }) => [actor, actor === `user:${admin}` ? admin : 0]),
  )
  t.ok(audits.some(({ actor }) => actor === `user:${admin}`))
  t.ok(await iam.login('STRASSE', 'secret1'))
  t.ok(await iam.login('mia', 'secret2'), 'a name that is taken stays its owner\u2019s')
})
