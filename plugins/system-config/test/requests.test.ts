/** Tests changes that wait for the approval of another operator. */
import { database } from '@plinth/database'
import { onDatabase, onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { type AuditEntry, BusinessError, definePlugin, guardsPermission, key } from '@plinth/kernel'
import { auditTrail } from '@plinth/kernel/host'
import type { Actor, ChangeRequest, ConfigCentre, ConfigChange, ImportDocument } from '@plinth/system-config'
import t from 'tap'
import { samplePlugin, startOn } from './fixtures/products.ts'

const approvalKeys = 'platform.system-config.approval.keys'
const limit = 'platform.teller.limit'
const oldLimit = 'platform.teller.old-limit'
const host = 'platform.teller.host'
const token = 'platform.teller.token'
const plain = 'platform.sample.window'

const audits: AuditEntry[] = []
const teller = definePlugin({
  id: 'test.teller',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [auditTrail],
  config: {
    [limit]: key.integer({ title: 'Limit', default: 5, reload: 'live', permission: guardsPermission }),
    [oldLimit]: key.integer({ title: 'Limit', reload: 'live', deprecated: { since: '1.0.0', replacement: limit } }),
    [host]: key.string({ title: 'Host', default: 'a', reload: 'live' }),
    [token]: key.string({ title: 'Token', default: '', sensitive: true, reload: 'live', destination: [host] }),
  },
  configGroups: { teller: { en: 'Tellers', 'zh-CN': '柜员' } },
  setup({ contribute }) {
    contribute(auditTrail, 'test', {
      record: async (entry) => {
        audits.push(entry)
      },
    })
  },
})

const person = (userId: number, permissions: readonly string[] = [guardsPermission]): Actor => ({
  name: `user${userId}`,
  userId,
  can: (permission) => permissions.includes(permission),
})
const [ann, bob, eve] = [person(7), person(8), person(9, [])]
const cli: Actor = { name: 'cli:ann' }
const set = (name: string, value: string | number | readonly string[]): ConfigChange => ({
  key: name,
  action: 'set',
  value: value as never,
})
const reset = (name: string): ConfigChange => ({ key: name, action: 'reset' })
const plugins = [teller, samplePlugin]
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => {
      if (!(error instanceof BusinessError)) throw error
      return `${error.code} ${error.reason}`
    },
  )
const storedOf = async (centre: ConfigCentre, name: string) => (await centre.get(name)).stored?.value
const open = async (centre: ConfigCentre): Promise<readonly ChangeRequest[]> =>
  (await centre.requests({ status: 'open' }, { size: 100, offset: 0, count: 'none' })).items

/** Starts a product in which another operator approves changes of these keys. */
async function approving(...parameters: [...Parameters<typeof startOn>]) {
  const [t, db, options = {}] = parameters
  const started = await startOn(t, db, { plugins, ...options })
  await started.centre.save([set(limit, 6), set(token, 'first'), set(approvalKeys, ['@guards', '@secrets'])], {
    actor: cli,
  })
  return started
}

onDatabase(t, 'no way of saving stores a key that another operator must approve', async (t, db) => {
  const { centre } = await approving(t, db)
  const second = await startOn(t, db, { plugins })
  const { version } = centre
  const document = (values: object) => ({ format: 'plinth-config/1', values }) as ImportDocument
  const asAnn = { actor: ann }
  const ways: Readonly<Record<string, () => Promise<{ readonly requestId?: number }>>> = {
    'a guard': () => centre.save([set(limit, 7)], asAnn),
    'a guard without verification': () => centre.save([set(limit, 7)], { ...asAnn, verify: false }),
    'a guard by its former name': () => centre.save([set(oldLimit, 7)], asAnn),
    'a reset': () => centre.save([reset(limit)], asAnn),
    'a guard with another key': () => centre.save([set(plain, '2m'), set(limit, 7)], asAnn),
    'a secret': () => centre.save([set(token, 'second')], asAnn),
    'an equal secret, which would confirm a guess': () => centre.save([set(token, 'first')], asAnn),
    'a plain key whose change removes a secret': () => centre.save([set(host, 'b')], asAnn),
    'the list of these keys': () => centre.save([set(approvalKeys, [])], asAnn),
    'a shorter list with a guard': () => centre.save([set(approvalKeys, ['@secrets']), set(limit, 7)], asAnn),
    'a reset of the list': () => centre.save([reset(approvalKeys)], asAnn),
    'an import': () => centre.import(document({ [limit]: 7 }), { ...asAnn, mode: 'merge' }),
    'an import that removes': () => centre.import(document({}), { ...asAnn, mode: 'replace' }),
    'a rollback': () => centre.rollback(0, asAnn),
    'a rollback of one key': () => centre.rollback(0, { ...asAnn, keys: [approvalKeys] }),
    'another instance': () => second.centre.save([set(limit, 7)], asAnn),
  }
  const results: Record<string, unknown> = {}
  for (const [name, way] of Object.entries(ways)) results[name] = typeof (await way()).requestId
  t.same(results, Object.fromEntries(Object.keys(ways).map((name) => [name, 'number'])))
  await centre.refresh()
  t.equal(centre.version, version, 'nothing is stored')
  t.equal((await open(centre)).length, Object.keys(ways).length)
  t.equal((await centre.save([set(plain, '2m'), set(limit, 6)], asAnn)).requestId, undefined, 'no protected change')
  t.equal((await centre.save([set(limit, 8)], { actor: cli })).requestId, undefined, 'the command line')
  t.equal(await reasonOf(centre.save([set(limit, 9)], { actor: eve })), '403 system-config.key-protected')
  for (const change of [reset(approvalKeys), set(approvalKeys, [])])
    t.equal(await reasonOf(centre.save([change], { actor: eve })), '403 system-config.key-protected')
  t.equal(await reasonOf(centre.rollback(0, { actor: eve })), '403 system-config.key-protected')
})

onDatabase(t, 'only another operator with the permissions of the keys approves', async (t, db) => {
  const { centre } = await approving(t, db)
  const made = await centre.save([set(limit, 7), set(plain, '2m')], { actor: ann, reason: 'busy week' })
  const id = made.requestId ?? 0
  t.same(
    made.effects.map(({ key: name, outcome, after }) => [name, outcome, after]),
    [
      [limit, 'requested', 7],
      [plain, 'requested', '2m'],
    ],
  )
  const foreseen = await centre.preview([set(limit, 7)], { actor: ann })
  t.same(foreseen.effects[0]?.outcome, 'requested', 'a preview says so')
  t.equal((await centre.preview([set(limit, 7)])).effects[0]?.outcome, 'applied', 'not for the command line')
  audits.length = 0
  t.same(
    {
      own: await reasonOf(centre.approve(id, { actor: ann })),
      'own rejection': await reasonOf(centre.reject(id, { actor: ann })),
      'no user': await reasonOf(centre.approve(id, { actor: cli })),
      'without the permission of the key': await reasonOf(centre.approve(id, { actor: eve })),
      'withdrawal by another user': await reasonOf(centre.withdraw(id, { actor: bob })),
      unknown: await reasonOf(centre.approve(1, { actor: bob })),
    },
    {
      own: '403 system-config.own-request',
      'own rejection': '403 system-config.own-request',
      'no user': '403 system-config.own-request',
      'without the permission of the key': '403 system-config.key-protected',
      'withdrawal by another user': '404 system-config.request-unknown',
      unknown: '404 system-config.request-unknown',
    },
  )
  t.same(audits, [], 'nothing happened')
  const unproven = new BusinessError('401', 'Prove it', { reason: 'test.proof-required' })
  const withoutProof = { ...bob, assertFresh: () => Promise.reject(unproven) }
  t.equal(await reasonOf(centre.approve(id, { actor: withoutProof })), '401 test.proof-required')

  const decided = await Promise.all([bob, person(10)].map((actor) => reasonOf(centre.approve(id, { actor }))))
  t.same(decided.toSorted(), ['409 system-config.request-closed', 'done'], 'one of two approvals succeeds')
  t.same([await storedOf(centre, limit), await storedOf(centre, plain)], [7, '2m'])
  const { status, decidedByUserId, requestedByUserId } = await centre.request(id)
  t.same([status, requestedByUserId], ['applied', 7])
  t.ok([8, 10].includes(decidedByUserId ?? 0))
  t.equal(await reasonOf(centre.approve(id, { actor: bob })), '409 system-config.request-closed')
  t.equal(await reasonOf(centre.withdraw(id, { actor: ann })), '409 system-config.request-closed')
  t.same(
    audits.map(({ action, actor, summary }) => [action, actor, summary?.['request'], summary?.['requestedBy']]),
    [
      ['configuration.approve', { userId: decidedByUserId }, id, 7],
      ['configuration.save', { userId: decidedByUserId }, undefined, undefined],
    ],
  )
  const [entry] = (await centre.history({ key: limit }, { size: 1, offset: 0, count: 'none' })).items
  t.match(entry, { actorUserId: decidedByUserId, reason: 'busy week', before: 6, after: 7 })
})

onDatabase(t, 'a request of values that changed meanwhile cannot be approved', async (t, db) => {
  const { centre } = await approving(t, db)
  const request = async (...changes: readonly ConfigChange[]) =>
    (await centre.save(changes, { actor: ann })).requestId ?? 0
  const [value, destination, other] = [
    await request(set(limit, 7)),
    await request(set(token, 'second')),
    await request(set(token, 'third')),
  ]
  await centre.save([set(limit, 4)], { actor: cli })
  t.equal(await reasonOf(centre.approve(value, { actor: bob })), '409 system-config.conflict')
  t.equal((await centre.request(value)).status, 'open', 'the decision is not recorded')
  await centre.save([set(host, 'evil'), set(token, 'first')], { actor: cli })
  t.equal(
    await reasonOf(centre.approve(destination, { actor: bob })),
    '409 system-config.destination-changed',
    'a secret is not sent to another host',
  )
  t.equal(await reasonOf(centre.reject(other, { actor: bob, reason: 'no' })), 'done')
  const { status, decisionReason, decidedByUserId } = await centre.request(other)
  t.same([status, decisionReason, decidedByUserId], ['rejected', 'no', 8])
  t.equal(await reasonOf(centre.withdraw(value, { actor: ann })), 'done')
  t.equal(await storedOf(centre, limit), 4)
})

onEachDatabase(t, 'secrets of a request are encrypted, never shown, and removed with the decision', async (t, db) => {
  const { centre, running } = await approving(t, db)
  audits.length = 0
  const id = (await centre.save([set(token, 'planted-secret-1')], { actor: ann })).requestId ?? 0
  const rows = async () => JSON.stringify(await running.service(database).query('select * from sys_config_request'))
  const places = { row: await rows(), view: JSON.stringify(await centre.request(id)), audit: JSON.stringify(audits) }
  for (const [place, content] of Object.entries(places)) t.notMatch(content, 'planted-secret-1', place)
  const [shown, ...more] = (await centre.request(id)).changes
  t.same([shown?.key, shown?.isSecret, shown?.value, more], [token, true, undefined, []])
  await centre.rotateSecrets()
  t.equal(await reasonOf(centre.approve(id, { actor: bob })), 'done', 'also after the master key was rotated')
  t.equal(await centre.isStoredSecret(token, 'planted-secret-1', bob), true)
  const [row] = await running
    .service(database)
    .query('select secrets, master_key_id as master_key from sys_config_request where id = ?', [id])
  t.match(row, { secrets: null, master_key: null })
})

onSqlite(t, 'a request expires, and a user has at most 20 open ones', async (t, db) => {
  const { centre, clock } = await approving(t, db)
  const save = () => centre.save([set(limit, 7)], { actor: ann })
  const id = (await save()).requestId ?? 0
  for (let count = 1; count < 20; count++) await save()
  t.equal(await reasonOf(save()), '409 system-config.request-limit')
  t.equal((await centre.save([set(limit, 7)], { actor: bob })).requestId === undefined, false, 'others are not limited')
  const day = 86_400_000
  await clock.advance(7 * day - 1)
  t.equal((await centre.request(id)).status, 'open')
  await clock.advance(1)
  t.equal((await centre.request(id)).status, 'expired')
  t.equal(await reasonOf(centre.approve(id, { actor: bob })), '409 system-config.request-closed')
  t.equal(await reasonOf(save()), 'done', 'expired requests do not count')
  t.equal((await open(centre)).length, 1)
})

onSqlite(t, 'the list accepts keys, prefixes, groups, guards and secrets', async (t, db) => {
  const { centre } = await startOn(t, db, { plugins })
  const cases: Readonly<Record<string, readonly string[]>> = {
    [limit]: [limit],
    'platform.teller.*': [limit, host, token],
    '@group:sample': ['platform.sample.limit', 'platform.sample.secret'],
    '@guards': [limit],
    '@secrets': [token, 'platform.sample.secret'],
    'platform.tell.*': [],
  }
  const values: Readonly<Record<string, string | number>> = {
    [limit]: 9,
    [host]: 'c',
    [token]: 'x',
    'platform.sample.limit': 11,
    'platform.sample.secret': 'y',
  }
  const found: Record<string, readonly string[]> = {}
  for (const entry of Object.keys(cases)) {
    await centre.save([set(approvalKeys, [entry])], { actor: cli })
    const { effects } = await centre.preview([], { actor: ann })
    t.same(effects, [])
    const covered: string[] = []
    for (const [name, value] of Object.entries(values)) {
      const preview = await centre.preview([set(name, value)], { actor: ann })
      if (preview.effects.some(({ outcome }) => outcome === 'requested')) covered.push(name)
    }
    found[entry] = covered
  }
  t.same(found, cases)
  const invalid = ['', '*', '@all', '@group:', 'Platform', 'a..*b', 'platform.*.x']
  const accepted: string[] = []
  for (const entry of invalid)
    if ((await reasonOf(centre.save([set(approvalKeys, [entry])], { actor: cli }))) === 'done') accepted.push(entry)
  t.same(accepted, [])
})

onSqlite(t, 'a list of another source cannot be replaced without approval', async (t, db) => {
  const { centre } = await startOn(t, db, { plugins, config: { [approvalKeys]: ['@secrets'] } })
  // The list does not contain its own key, which is a guard.
  t.type((await centre.save([set(approvalKeys, [])], { actor: ann })).requestId, 'number')
  t.type((await centre.save([set(token, 'second')], { actor: ann })).requestId, 'number')
  t.equal((await centre.save([set(limit, 7)], { actor: ann })).requestId, undefined)
})
