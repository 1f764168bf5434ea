/**
 * Tests that a user cannot change a configuration key that a check depends on without the permission that the key
 * declares. Tries every such key in every way in which the back office and the API store values: some keys alone, and
 * all keys together, where the result must list each of them.
 */
import { join } from 'node:path'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct, type JsonValue, kernel, systemClock } from '@plinth/kernel'
import type { CatalogueEntry } from '@plinth/kernel/host'
import { validateValue } from '@plinth/kernel/host'
import { type ConfigChange, configCentre } from '@plinth/system-config'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import quickstart from '../examples/quickstart/plinth.config.ts'

t.setTimeout(300_000)

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'Correct-horse-7'
const centrePath = 'admin/system-config'
const save = 'system-config:save'

// biome-ignore lint/suspicious/noExplicitAny: responses of many routes
type Data = any
type Call = (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) => Promise<Data>

async function start(t: Test) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const product = defineProduct({
    name: 'quickstart',
    plugins: quickstart.plugins,
    config: {
      ...quickstart.config,
      ...db.config,
      'platform.http.port': 0,
      'platform.storage.root': join(db.directory, 'storage'),
      'platform.system-config.master-key-file': join(db.directory, 'master.key'),
      'platform.install.installed': true,
      'platform.rate-limit.enabled': false,
      'platform.rate-limit.default-store': 'memory',
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
    },
  })
  const logger = pino({ level: 'info' }, { write: () => {} })
  const startInstance = async () => {
    const instance = await startMigrated(product, { clock: systemClock, environment: {}, logger })
    t.teardown(() => instance.stop('test ended'))
    return instance
  }
  const running = await startInstance()
  const server = running.service(http)
  const call = (token?: string, at = server): Call => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return async (method, path, payload) => {
      const body = payload === undefined ? {} : { payload }
      return (await at.inject({ method, url: `/api/v1/${path}`, headers, ...body })).json()
    }
  }
  const logIn = async (username: string, at = server) =>
    call((await call()('POST', 'auth/login', { username, password })).data.accessToken, at)
  await running.service(accounts).createAdministrator({ username: 'root', password }, origin)
  const root = await logIn('root')
  let count = 0
  /** Creates a user with these permissions and scope `all`. Returns the name. */
  const createOperator = async (permissions: readonly string[]): Promise<string> => {
    const code = `operator-${++count}`
    const role = await root('POST', 'admin/iam/roles', { code, name: code, dataScope: 'all', permissions })
    await root('POST', 'admin/iam/users', { username: code, password, roleIds: [role.data.id] })
    return code
  }
  /** Like `createOperator`. Returns a function for calls as this user. */
  const operator = async (permissions: readonly string[]): Promise<Call> => logIn(await createOperator(permissions))
  /** Creates an API token of a user with these permissions. Returns a function for calls with it. */
  const withApiToken = async (owner: Call, permissions: readonly string[]): Promise<Call> => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const content = { name: 'script', dataScope: 'all', permissions, expiresAt }
    return call((await owner('POST', 'iam/users/me/api-tokens', content)).data.token)
  }
  const declared = running
    .service(kernel)
    .plugins.flatMap(({ permissions = [] }) => permissions.map(({ code }) => code))
  const centre = running.service(configCentre)
  const stored = (key: string) =>
    running.config.explain(key)?.sources.find(({ source }) => source === 'database')?.value
  const entries = running.config.catalogue
  const guards = entries.flatMap((entry) =>
    entry.permission === undefined ? [] : [{ ...entry, permission: entry.permission }],
  )
  return {
    root,
    operator,
    createOperator,
    withApiToken,
    logIn,
    startInstance,
    declared,
    centre,
    stored,
    guards,
    entries,
  }
}

const set = (key: string, value: JsonValue): ConfigChange => ({ key, action: 'set', value })
const document = (values: object) => ({ format: 'plinth-config/1', values })

const shop = { issuer: 'https://shop.example', clientId: 'shop' }
/** A disabled provider, which is not asked when it is saved, and a client secret. */
const providerValues = [{ shop: { ...shop, enabled: false } }, { shop: { ...shop, secret: 'shop' } }]

/** Returns a value of the key that its schema allows and that is not the default. */
function otherValueOf(entry: CatalogueEntry): JsonValue {
  const { schema, format, type, default: standard } = entry
  const bounds = ['minimum', 'maximum', 'formatMinimum', 'formatMaximum'].flatMap((name) => schema[name] ?? [])
  const all = [
    ...(Array.isArray(schema['enum']) ? schema['enum'] : []),
    ...bounds,
    ...(type === 'boolean' ? [true, false] : []),
    ...(type === 'array' ? [['10.0.0.0/8'], ['X-Real-IP'], ['86'], ['https://shop.example'], []] : []),
    ...(format === 'duration' ? ['3d'] : []),
    ...(type === 'integer' ? [7] : []),
    ...(type === 'object' ? providerValues : []),
    'https://shop.example',
    'shop',
    '/shop',
    'shop/',
  ] as JsonValue[]
  const found = all.find(
    (value) => JSON.stringify(value) !== JSON.stringify(standard) && validateValue(entry, value).length === 0,
  )
  if (found === undefined) throw new Error(`no other value for ${entry.key}`)
  return found
}

/** Keys that must stay guards, by their permission. `docs/permissions.md` lists all guards. */
const expected = {
  'iam:guards:save': [
    'platform.approval.retention',
    'platform.iam.audit.retention',
    'platform.iam.auth.login.rate-limit.enabled',
    'platform.iam.auth.login.rate-limit.password.identifier-max-attempts',
    'platform.install.allowed-cidrs',
    // The reader of mails and messages gets links for new passwords and codes.
    'platform.mail.driver',
    'platform.mail.smtp.host',
    'platform.mail.smtp.port',
    'platform.mail.smtp.username',
    'platform.money.web3.settlement.review.four-eyes',
    'platform.rate-limit.annotation.client-ip.trusted-proxies',
    'platform.rate-limit.enabled',
    'platform.site.url',
    'platform.sms.driver',
    'platform.sms.twilio.endpoint',
    'platform.system-config.approval.keys',
  ],
  'web3:contract-wallets:save': ['platform.web3.contract-wallets.chain'],
}

t.test('a user without the permission of a guard key cannot change it in any way', async (t) => {
  const {
    root,
    operator,
    createOperator,
    withApiToken,
    logIn,
    startInstance,
    declared,
    centre,
    stored,
    guards,
    entries,
  } = await start(t)
  const permissionOf = (key: string) => guards.find((entry) => entry.key === key)?.permission
  for (const [permission, keys] of Object.entries(expected)) {
    t.same(
      keys.filter((key) => permissionOf(key) !== permission),
      [],
    )
  }

  // Removes the key for a moment in order to replace the providers that decide about contract wallets.
  const chainKey = 'platform.web3.contract-wallets.chain'
  const setUp = await operator(['web3:chain:save', save])
  const chain = { name: 'mainnet', chainId: 1, providers: [{ id: 'own', url: 'https://rpc.example/a' }] }
  const { id } = (await root('POST', 'admin/web3/chains', chain)).data
  t.equal((await root('POST', `${centrePath}/changes`, { changes: [set(chainKey, 'mainnet')] })).code, '200')
  const replace = () =>
    setUp('PUT', `admin/web3/chains/${id}`, { providers: [{ id: 'x', url: 'https://rpc.example/x' }] })
  t.equal((await replace()).code, '403')
  t.equal((await setUp('POST', `${centrePath}/changes`, { changes: [set(chainKey, '')] })).code, '403')
  t.equal((await replace()).code, '403')
  t.equal((await root('POST', `${centrePath}/changes`, { changes: [{ key: chainKey, action: 'reset' }] })).code, '200')
  // Orders are settled on a chain with required confirmations, so its nodes need the permission to settle.
  const settler = await operator(['web3:chain:save', 'money:web3:payment-settlement:execute'])
  const protectedChain = { code: '403', data: { reason: 'web3.chain-protected' } }
  const at = `admin/web3/chains/${id}`
  t.match(await setUp('PUT', at, { requiredConfirmations: 12 }), protectedChain, 'starts the use')
  t.equal((await settler('PUT', at, { requiredConfirmations: 12 })).code, '200')
  const others = { providers: [{ id: 'y', url: 'https://rpc.example/y' }] }
  for (const change of [others, { ...others, requiredConfirmations: null }, { requiredConfirmations: 1 }]) {
    t.match(await setUp('PUT', at, change), protectedChain)
  }
  t.equal((await setUp('PUT', at, { enabled: false })).code, '200', 'stops the use')
  t.match(await setUp('PUT', at, { enabled: true }), protectedChain)
  t.match(
    await setUp('POST', 'admin/web3/chains', { name: 'other', chainId: 5, requiredConfirmations: 1 }),
    protectedChain,
  )
  t.equal((await settler('PUT', at, { ...others, enabled: true, requiredConfirmations: null })).code, '200')
  // The providers may change while no key names the chain, but then the user cannot name it.
  t.equal((await replace()).code, '200')
  t.equal((await setUp('POST', `${centrePath}/changes`, { changes: [set(chainKey, 'mainnet')] })).code, '403')

  const permissions = [...new Set(guards.map(({ permission }) => permission))]
  const without = new Map<string, Call>()
  const owners = new Map<string, Call>()
  /** Callers without the permission by their other credentials, and the instance that they call. */
  const byCredential = new Map<string, Map<string, Call>>()
  const second = (await startInstance()).service(http)
  for (const one of permissions) {
    const rest = declared.filter((code) => code !== one)
    const name = await createOperator(rest)
    without.set(one, await logIn(name))
    owners.set(one, await operator([save, 'system-config:view', one]))
    const limited = [save, 'system-config:view']
    const credentials = {
      'an API token': await withApiToken(without.get(one) as Call, rest),
      'an API token of an owner with the permission, without it': await withApiToken(owners.get(one) as Call, limited),
      'a second instance': await logIn(name, second),
    }
    for (const [way, caller] of Object.entries(credentials))
      byCredential.set(way, (byCredential.get(way) ?? new Map<string, Call>()).set(one, caller))
  }

  const values = new Map(guards.map((entry) => [entry.key, otherValueOf(entry)]))
  const changesOf = (keys: readonly string[]) => keys.map((key) => set(key, values.get(key) as JsonValue))
  /** Some keys alone, then all keys of each permission in one request, whose result lists each of them. */
  const attacks = [
    ...Object.entries(expected).flatMap(([permission, keys]) => keys.map((key) => ({ permission, keys: [key] }))),
    ...permissions.map((permission) => ({
      permission,
      keys: guards.filter((entry) => entry.permission === permission).map(({ key }) => key),
    })),
  ]
  const attackerOf = (permission: string) => without.get(permission) as Call
  const deniedIn = (data: Data) => data?.errors?.map(({ field, rule }: Data) => `${field} ${rule}`).sort()
  /** Attacks in one way, and returns the requests whose result is not that exactly their keys need the permission. */
  const notDenied = async (
    way: string,
    path: string,
    bodyOf: (keys: readonly string[]) => object,
    { isPreview = false, by = without, on = attacks } = {},
  ) => {
    const found: string[] = []
    for (const { permission, keys: all } of on) {
      const keys = all.filter((key) => values.has(key))
      if (keys.length === 0) continue
      const { code, data } = await (by.get(permission) as Call)('POST', `${centrePath}/${path}`, bodyOf(keys))
      const denied = [code, data?.reason, String(data?.permissions), String(deniedIn(data))]
      if (data?.effects?.length > 0) found.push(`${way} of ${keys[0]} shows effects`)
      const errors = String(keys.map((key) => `${key} permission`).sort())
      const wanted = isPreview
        ? ['200', undefined, 'undefined', errors]
        : ['403', 'system-config.key-protected', permission, errors]
      if (String(denied) !== String(wanted)) found.push(`${way} of ${keys.length} keys such as ${keys[0]}: ${denied}`)
    }
    return found
  }
  const imported = (keys: readonly string[]) => ({
    document: document(Object.fromEntries(keys.map((key) => [key, values.get(key)]))),
    mode: 'merge',
  })
  const title = set('platform.site.title', 'x')
  /** All keys of each permission in one request. */
  const whole = attacks.slice(-permissions.length)
  const byOthers = async (
    way: string,
    path: string,
    bodyOf: (keys: readonly string[]) => object,
    options: { readonly isPreview?: boolean } = {},
  ) => {
    const found: string[] = []
    for (const [credential, by] of byCredential)
      found.push(...(await notDenied(`${way} with ${credential}`, path, bodyOf, { ...options, by, on: whole })))
    return found
  }
  t.same(
    [
      ...(await byOthers('save', 'changes', (keys) => ({ changes: changesOf(keys) }))),
      ...(await byOthers('import', 'import', imported)),
      ...(await byOthers('preview', 'changes/preview', (keys) => ({ changes: changesOf(keys) }), { isPreview: true })),
      ...(await notDenied('save', 'changes', (keys) => ({ changes: changesOf(keys) }))),
      ...(await notDenied('save with another key', 'changes', (keys) => ({
        changes: [title, ...changesOf(keys)],
        verify: false,
      }))),
      ...(await notDenied('import', 'import', imported)),
      ...(await notDenied('preview', 'changes/preview', (keys) => ({ changes: changesOf(keys) }), { isPreview: true })),
      ...(await notDenied('preview of an import', 'import', (keys) => ({ ...imported(keys), dryRun: true }), {
        isPreview: true,
      })),
    ],
    [],
  )
  t.same(
    guards.filter(({ key }) => stored(key) !== undefined).map(({ key }) => key),
    [],
    'nothing is stored',
  )

  // The command line stores all values, because it is not restricted. No loaded store has the other name of a store.
  const before = centre.version
  values.delete('platform.rate-limit.default-store')
  // This key would turn all later changes into requests. Its own tests are in plugins/system-config/test/requests.test.ts.
  values.delete('platform.system-config.approval.keys')
  await centre.save(changesOf([...values.keys()]), { actor: { name: 'cli:root' }, verify: false })
  let changed = centre.version
  const resetsOf = (keys: readonly string[]) => keys.map((key) => ({ key, action: 'reset' }))
  // Two steps: a change that is allowed, and a rollback beyond it.
  for (const [permission, attacker] of without) {
    const step = await attacker('POST', `${centrePath}/changes`, { changes: [title] })
    t.equal(step.code, '200', `a first step without ${permission}`)
  }
  changed = centre.version
  t.same(
    [
      ...(await byOthers('reset', 'changes', (keys) => ({ changes: resetsOf(keys) }))),
      ...(await byOthers('rollback', 'rollback', (keys) => ({ toVersion: before, keys, verify: false }))),
      ...(await notDenied('reset', 'changes', (keys) => ({ changes: resetsOf(keys) }))),
      ...(await notDenied('rollback', 'rollback', (keys) => ({ toVersion: before, keys, verify: false }))),
      ...(await notDenied('preview of a rollback', 'rollback', (keys) => ({ toVersion: before, keys, dryRun: true }), {
        isPreview: true,
      })),
    ],
    [],
  )
  const back: string[] = []
  for (const [permission, attacker] of without) {
    for (const [path, body] of [
      ['rollback', { toVersion: before, verify: false }],
      ['import', { document: document({}), mode: 'replace' }],
    ] as const) {
      const { code, data } = await attacker('POST', `${centrePath}/${path}`, body)
      if (code !== '403' || String(data.permissions) !== permission) back.push(`${path} without ${permission}: ${code}`)
    }
  }
  t.same(back, [], 'nothing is removed')
  t.equal(centre.version, changed)

  for (const { permission, keys: all } of attacks.slice(-permissions.length)) {
    const keys = all.filter((key) => values.has(key))
    // An equal value of a secret counts as a change. Otherwise the response would confirm a correct guess.
    const secrets = new Set(entries.flatMap(({ key, sensitive }) => (sensitive ? [key] : [])))
    const same = await attackerOf(permission)('POST', `${centrePath}/changes`, {
      changes: changesOf(keys.filter((key) => !secrets.has(key))),
      verify: false,
    })
    t.not(same.code, '403', 'a value that does not change needs no permission')
    const reset = { changes: resetsOf(keys), verify: false }
    const { code } = await (owners.get(permission) as Call)('POST', `${centrePath}/changes`, reset)
    t.equal(code, '200', 'the permission of the keys and the permission to save are enough')
    t.same(
      keys.filter((key) => stored(key) !== undefined),
      [],
    )
  }
})

t.test('a user without the permission of a guard key cannot get it', async (t) => {
  const { root, createOperator, withApiToken, logIn, declared } = await start(t)
  const guard = 'iam:guards:save'
  const rest = declared.filter((code) => code !== guard)
  const name = await createOperator(rest)
  const attacker = await logIn(name)
  const { items: users } = (await root('GET', 'admin/iam/users')).data
  const { items: roles } = (await root('GET', 'admin/iam/roles')).data
  const idOf = (rows: Data, key: string, value: string): number => rows.find((row: Data) => row[key] === value).id
  const [own, rootId] = [idOf(users, 'username', name), idOf(users, 'username', 'root')]
  const [superAdmin, ownRole] = [idOf(roles, 'code', 'super-admin'), idOf(roles, 'code', name)]
  const more = { code: 'more', name: 'more', dataScope: 'all', permissions: [guard] }
  const { code: _, ...content } = more
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const token = { name: 'x', dataScope: 'all', permissions: [guard], expiresAt }
  const rules = { secondFactorFrom: null, sessionLifetime: 60, sessionIdleTimeout: null, version: 1 }
  const attempts: readonly (readonly [string, 'POST' | 'PUT', string, object])[] = [
    ['a new role', 'POST', 'admin/iam/roles', more],
    ['the own role', 'PUT', `admin/iam/roles/${ownRole}`, { ...content, permissions: [...rest, guard], version: 1 }],
    ['the role of administrators', 'PUT', `admin/iam/users/${own}`, { roleIds: [superAdmin] }],
    ['a new administrator', 'POST', 'admin/iam/users', { username: 'evil', password, roleIds: [superAdmin] }],
    [
      'an invited administrator',
      'POST',
      'admin/iam/invitations',
      { username: 'evil', email: 'a@b.example', roleIds: [superAdmin] },
    ],
    ['the password of an administrator', 'PUT', `admin/iam/users/${rootId}/password`, { password }],
    ['the address of an administrator', 'PUT', `admin/iam/users/${rootId}`, { email: 'evil@b.example' }],
    ['a link for an administrator', 'POST', `admin/iam/users/${rootId}/recovery`, {}],
    ['the second factors of an administrator', 'POST', `admin/iam/users/${rootId}/authenticators/reset`, {}],
    ['the sign-in rules of a role', 'PUT', `admin/iam/roles/${ownRole}/sign-in-policy`, rules],
    ['an API token with the permission', 'POST', 'iam/users/me/api-tokens', token],
  ]
  const script = await withApiToken(attacker, rest)
  const succeeded: string[] = []
  for (const [title, method, path, body] of attempts)
    for (const [credential, caller] of Object.entries({ session: attacker, token: script })) {
      const { code } = await caller(method, path, body)
      if (code === '200') succeeded.push(`${title} with a ${credential}`)
    }
  t.same(succeeded, [])
  const after = (await attacker('GET', 'iam/users/me')).data
  t.notOk(after.permissions.includes(guard))
  t.equal((await root('GET', 'iam/users/me')).code, '200', 'the administrator is not affected')
})
