/** Tests the operations that export and erase the data of a user. */
import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import { userDeleted, userErased } from '@plinth/iam'
import { bilingual, definePlugin, type PersonalDataSubject, personalData, service } from '@plinth/kernel'
import t from 'tap'
import { adminPassword, startIam, system } from './fixtures/product.ts'

interface Seen {
  readonly erased: number[]
  readonly deleted: number[]
  /** The persons for whom the product has called the functions that this plugin declares. */
  readonly persons: PersonalDataSubject[]
  failure: Error | undefined
}
const seen = service<Seen>('acme.seen')

/** A third-party plugin that stores personal data elsewhere and handles the event of an erasure. */
const acme = definePlugin({
  id: 'acme',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database, events },
  provides: [seen],
  contributes: [personalData],
  setup({ services, provide, contribute }) {
    const state: Seen = { erased: [], deleted: [], persons: [], failure: undefined }
    services.events.on(userErased, 'acme.erase', ({ payload }) => void state.erased.push(payload.userId))
    services.events.on(userDeleted, 'acme.delete', ({ payload }) => void state.deleted.push(payload.userId))
    contribute(personalData, 'acme', [
      {
        table: 'acme_cloud',
        title: bilingual('Files', '文件'),
        columns: ['user_id'],
        erasure: 'kept',
        reason: bilingual('An example', '示例'),
        async *read({ userId }) {
          yield { userId, text: 'a "quoted" text' }
        },
        count: async () => 1,
        async erase(person) {
          state.persons.push(person)
          if (state.failure !== undefined) throw state.failure
          return 0
        },
      },
    ])
    provide(seen, state)
  },
})

onDatabase(t, 'operators export and erase users within their permissions and data scope', async (t, db) => {
  const iam = await startIam(t, db, { plugins: [eventsPlugin, acme] })
  const root = await iam.administrator()
  const state = iam.running.service(seen)
  const users = '/api/v1/admin/iam/users'
  const call = (method: string, path: string, token: string, body?: unknown) =>
    iam.call(method, `${users}/${path}`, { token, body })
  const role = (code: string, dataScope: string, permissions: readonly string[]) =>
    iam.call('POST', '/api/v1/admin/iam/roles', { token: root, body: { code, name: code, dataScope, permissions } })
  const erase = ['iam:user:export', 'iam:user:erase']
  const { data: eraser } = await role('eraser', 'org', erase)
  const { data: viewer } = await role('viewer', 'all', ['iam:user:view', 'iam:user:delete'])
  const { data: strong } = await role('strong', 'org', ['iam:role:save'])
  const create = async (username: string, orgId: number | null, roleIds: readonly number[]) =>
    (await iam.accounts.create({ username, password: adminPassword, orgId, roleIds }, system)).id
  const eraserId = await create('eraser', 7, [eraser.id])
  await create('viewer', 7, [viewer.id])
  const anna = await create('anna', 7, [])
  const bert = await create('bert', 8, [])
  const chief = await create('chief', 7, [strong.id])
  const [token, viewing, annas] = [
    await iam.login('eraser', adminPassword),
    await iam.login('viewer', adminPassword),
    await iam.login('anna', adminPassword),
  ]
  const rootId = (await iam.accounts.findByUsername('admin'))?.id
  const reasonOf = async (answer: ReturnType<typeof call>) => (await answer).data?.reason ?? (await answer).code

  for (const [method, path, body] of [
    ['GET', `${anna}/personal-data`],
    ['GET', `${anna}/personal-data/file`],
    ['POST', `${anna}/erasure`, { username: 'anna' }],
  ] as const) {
    t.equal((await call(method, path, viewing, body)).code, '403', `${method} ${path} needs a permission`)
    const abroad = path.replace(String(anna), String(bert))
    t.equal(
      await reasonOf(call(method, abroad, token, body)),
      'iam.user-unknown',
      'another organisation is out of scope',
    )
    const above = path.replace(String(anna), String(chief))
    t.equal(await reasonOf(call(method, above, token, { username: 'chief' })), 'iam.beyond-own-authority')
  }
  const summary = (await call('GET', `${anna}/personal-data`, token)).data
  assertMembers(
    t,
    summary.map(({ table, rows, erasure }: Record<string, unknown>) => ({ table, rows, erasure })),
    [
      { table: 'acme_cloud', rows: 1, erasure: 'kept' },
      { table: 'iam_login_audit', rows: 1, erasure: 'anonymised' },
      { table: 'iam_audit', rows: 1, erasure: 'anonymised' },
      { table: 'iam_token', rows: 1, erasure: 'removed' },
      { table: 'iam_user', rows: 1, erasure: 'removed' },
    ],
  )
  const chinese = await iam.call('GET', `${users}/${anna}/personal-data`, { token, language: 'zh-CN' })
  t.hasStrict(chinese.data[0], { displayTitle: '文件', displayReason: '示例' })

  const file = await iam.server.inject({
    method: 'GET',
    url: `${users}/${anna}/personal-data/file`,
    headers: { authorization: `Bearer ${token}` },
  })
  t.equal(file.headers['content-disposition'], `attachment; filename="user-${anna}.json"`)
  const tables: { table: string; rows: object[] }[] = file.json().tables
  assertMembers(t, tables.find(({ table }) => table === 'acme_cloud')?.rows, [
    { userId: anna, text: 'a "quoted" text' },
  ])
  assertMembers(t, tables.find(({ table }) => table === 'iam_user')?.rows, [{ id: anna, username: 'anna' }])
  t.notMatch(file.body, /bert|passwordHash/)

  const body = { username: 'anna' }
  t.equal(await reasonOf(call('POST', `${eraserId}/erasure`, token, { username: 'eraser' })), 'iam.own-erasure')
  t.equal(await reasonOf(call('POST', `${rootId}/erasure`, root, { username: 'admin' })), 'iam.own-erasure')
  t.equal(await reasonOf(call('POST', `${anna}/erasure`, token, { username: 'bert' })), 'iam.erasure-unconfirmed')
  t.equal((await call('POST', `${anna}/erasure`, token, {})).code, '400')
  t.hasStrict(await iam.accounts.find(anna), { enabled: true }, 'a rejected call changes nothing')
  t.strictSame(state.persons, [])

  state.failure = new Error('the cloud does not respond')
  t.equal((await call('POST', `${anna}/erasure`, token, body)).code, '500')
  t.hasStrict(
    await iam.accounts.find(anna),
    { enabled: false },
    'the account is disabled until the erasure is repeated',
  )
  t.equal((await iam.call('GET', '/api/v1/iam/users/me', { token: annas })).code, '401', 'its sessions ended')
  t.strictSame(state.erased, [])
  state.failure = undefined
  t.hasStrict((await call('POST', `${anna}/erasure`, token, body)).data, { removed: 2, anonymised: 2, kept: 3 })
  t.strictSame(state.persons, Array(2).fill({ userId: anna, username: 'anna' }))
  t.equal(await iam.accounts.find(anna), undefined)
  t.equal(await reasonOf(call('POST', `${anna}/erasure`, token, body)), 'iam.user-unknown', 'a second call is harmless')
  await iam.running.service(events).idle()
  t.strictSame([state.erased, state.deleted], [[anna], [anna]], 'other plugins are notified')

  const audits = await iam.call('GET', `/api/v1/admin/iam/audits?targetType=erased-user&targetId=${anna}`, {
    token: root,
  })
  assertMembers(
    t,
    audits.data.items.map(({ actor, action, summary }: Record<string, unknown>) => ({ actor, action, summary })),
    [
      {
        actor: `user:${eraserId}`,
        action: 'user.erase',
        summary: { phase: 'finished', removed: 2, anonymised: 2, kept: 3 },
      },
      { actor: `user:${eraserId}`, action: 'user.erase', summary: { phase: 'begun' } },
      { actor: `user:${eraserId}`, action: 'user.erase', summary: { phase: 'begun' } },
    ],
  )
  const all = await iam.call('GET', '/api/v1/admin/iam/audits?size=100', { token: root })
  t.notMatch(JSON.stringify(all.data), /anna/, 'the audit does not contain the name')
  t.hasStrict(await iam.accounts.find(bert), { enabled: true })
})
