/**
 * Tests attacks on the quickstart by an administrator who has the data scope `self` and may change every key, also keys
 * that need a permission of their own, but has no other permission. `guard-keys.test.ts` tests administrators who lack
 * the permissions of keys.
 *
 * - Secrets: each secret with a destination, from each source. The attacker changes each key of the destination alone,
 *   and all together, in each way of storing values, and restores earlier versions. After all keys were saved, the
 *   features that send the secret are used. The secret must be unset, no server of the attacker may receive it, and no
 *   response to the attacker may contain it.
 * - Files and sessions: each key that the config centre never stores is rejected in each way. Then all other keys get
 *   their extreme values, one after another. Afterwards no URL of a private file returns its content, also if the
 *   attacker signed the URL, and six requests to sign in without a valid password, code or key return no token.
 * - Upgrades: rows that an earlier version stored for keys of files and signatures are ignored.
 *
 * An administrator with these permissions can still do harm that these tests do not cover, for example end all limits.
 */
import { createHmac } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { createDatabase, startMigrated, type TestDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct, type JsonValue, systemClock } from '@plinth/kernel'
import { type CatalogueEntry, prepareProduct } from '@plinth/kernel/host'
import { storage } from '@plinth/storage'
import { configCentre } from '@plinth/system-config'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import quickstart from '../examples/quickstart/plinth.config.ts'
import { ConfigRow } from '../plugins/system-config/src/entities.ts'
import { startAttacker } from './fixtures/attacker.ts'

t.setTimeout(1_200_000)

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'Correct-horse-7'
const centrePath = 'admin/system-config'
const genuineUrl = 'http://127.0.0.1:9/genuine/'

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes
type Data = any
type Values = Readonly<Record<string, JsonValue>>

async function newDatabase(t: Test) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return db
}

const configOf = (db: TestDatabase): Values => ({
  ...quickstart.config,
  ...db.config,
  'platform.http.port': 0,
  'platform.storage.root': join(db.directory, 'storage'),
  'platform.system-config.master-key-file': join(db.directory, 'master.key'),
  'platform.install.installed': true,
  'platform.rate-limit.enabled': false,
  'platform.iam.password.hash.memory': '1MiB',
  'platform.iam.password.hash.passes': 1,
  'platform.mail.driver': 'smtp',
  'platform.mail.from': 'Shop <noreply@shop.example>',
  'platform.notification.send-deadline': '2s',
})

/** Discards the log, because the attacker cannot read it at any level. */
const discarding = () => pino({ level: 'info' }, { write: () => {} })

async function start(
  t: Test,
  db: TestDatabase,
  config: Values = {},
  environment: Readonly<Record<string, string>> = {},
) {
  const product = defineProduct({
    name: 'quickstart',
    plugins: quickstart.plugins,
    config: { ...configOf(db), ...config },
  })
  const running = await startMigrated(product, { clock: systemClock, environment, logger: discarding() })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const people = running.service(accounts)
  const answers: string[] = []
  const call = async (token: string | undefined, method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const body = payload === undefined ? {} : { payload }
    const response = await server.inject({ method, url: `/api/v1/${path}`, headers, ...body })
    return { ...(response.body.startsWith('{') ? (response.json() as Data) : {}), text: response.body } as Data
  }
  const logIn = async (username: string) =>
    (await call(undefined, 'POST', 'auth/login', { username, password })).data.accessToken as string
  // The second start finds the accounts that the first start has created.
  await people.createAdministrator({ username: 'root', password }, origin).catch(() => undefined)
  const rootToken = await logIn('root')
  const root = async (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) => {
    const response = await call(rootToken, method, path, payload)
    if (response.code !== '200') throw new Error(`${method} ${path}: ${response.text}`)
    return response.data
  }
  const ofKeys = new Set(running.config.catalogue.flatMap(({ permission }) => permission ?? []))
  const role = await call(rootToken, 'POST', 'admin/iam/roles', {
    code: 'hostile',
    name: 'Hostile',
    dataScope: 'all',
    permissions: ['system-config:save', ...ofKeys],
  })
  if (role.code === '200') {
    await root('POST', 'admin/iam/users', { username: 'mallory', password, roleIds: [role.data.id] })
  }
  const customer = { username: 'customer', password, email: 'x@shop.example', mobile: '+8613800138000', roleIds: [] }
  await call(rootToken, 'POST', 'admin/iam/users', customer)
  const customerId = (await root('GET', 'admin/iam/users?keyword=customer')).items[0].id as number
  const token = await logIn('mallory')
  /** Makes a call as the attacker and records the response. */
  const attack = async (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) => {
    const response = await call(token, method, path, payload)
    answers.push(response.text)
    return response
  }
  const centre = running.service(configCentre)
  return { running, server, root, attack, call, answers, customerId, config: running.config, centre }
}
type Started = Awaited<ReturnType<typeof start>>

const set = (key: string, value: JsonValue) => ({ key, action: 'set', value })
const isSecretWithDestination = ({ sensitive, destination = [] }: CatalogueEntry) => sensitive && destination.length > 0

/** Returns a value that the schema of a secret allows, and the texts in it that must not leave the product. */
function plantedFor({ key, type, schema }: CatalogueEntry, source: string): { value: JsonValue; secrets: string[] } {
  const secret = `planted${source}${key.replace(/[^a-z0-9]/g, '')}4711`.slice(-40)
  if (type === 'object') return { value: { shop: { appId: 'wx-public-id', secret } }, secrets: [secret] }
  const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern'], 'u') : /^/u
  const whsec = `whsec_${Buffer.from(secret.slice(0, 30)).toString('base64')}`
  const value = [secret, whsec, `4711:${secret}`].find((one) => pattern.test(one)) ?? secret
  return { value, secrets: [value] }
}

/** Returns the value of a destination key before the attack, and the value that the attacker sets. */
function destinationValues(entry: CatalogueEntry, attacker: { url: string; mailPort: number }) {
  const last = entry.key.slice(entry.key.lastIndexOf('.') + 1)
  if (entry.format === 'url') return { genuine: `${genuineUrl}${last}`, hostile: `${attacker.url}${last}` }
  if (last === 'host') return { genuine: 'localhost', hostile: '127.0.0.1' }
  if (last === 'port') return { genuine: 9, hostile: attacker.mailPort }
  if (last === 'security') return { genuine: 'tls', hostile: 'opportunistic' }
  if (last === 'ca') return { genuine: '', hostile: 'authority of the attacker' }
  return { genuine: `genuine-${last}`, hostile: `hostile-${last}` }
}

/** Ways in which the attacker can store values. */
const ways: Readonly<Record<string, (values: Values) => readonly [path: string, body: object]>> = {
  save: (values) => ['changes', { changes: Object.entries(values).map(([key, value]) => set(key, value)) }],
  'save unverified': (values) => [
    'changes',
    { changes: Object.entries(values).map(([key, value]) => set(key, value)), verify: false },
  ],
  merge: (values) => ['import', { document: { format: 'plinth-config/1', values }, mode: 'merge' }],
  replace: (values) => ['import', { document: { format: 'plinth-config/1', values }, mode: 'replace' }],
}

/** Uses every feature that sends the secret of a key, as operators and customers do. */
async function useSecrets({ root, call, customerId }: Started, key: string) {
  const provider = /webhook\.providers\.([a-z-]+)\./.exec(key)?.[1]
  const channel =
    provider !== undefined ? 'webhook' : key.includes('.sms.') ? 'sms' : key.includes('.social.') ? 'social' : 'mail'
  const attributes = {
    ...(provider && { 'webhook.provider': provider }),
    ...(channel === 'social' && {
      'social.account-code': 'shop',
      'social.message-type': 'text',
      'social.to-user': 'o',
    }),
  }
  const recipientUserIds = channel === 'webhook' ? [] : [customerId]
  const draft = { channels: [channel], subject: 'a', content: 'b', recipientUserIds, attributes }
  await root('POST', 'notifications/send', draft).catch(() => undefined)
  if (channel !== 'webhook') await root('POST', `admin/notification/channels/${channel}/verify`).catch(() => undefined)
  if (channel === 'mail') await call(undefined, 'POST', 'auth/verify/email-codes', { email: 'x@shop.example' })
}

for (const source of ['database', 'file', 'environment'] as const) {
  t.test(
    `no secret of the source ${source} is sent to an address of an administrator`,
    { timeout: 900_000 },
    async (t) => {
      const attacker = await startAttacker(t)
      const at = { url: attacker.url, mailPort: attacker.mail.port }
      const about = defineProduct({ name: 'quickstart', plugins: quickstart.plugins })
      const { config: declared } = prepareProduct(about, { envFile: false })
      const catalogue = new Map(declared.catalogue.map((entry) => [entry.key, entry]))
      const targets = [...catalogue.values()].filter(isSecretWithDestination)
      const planted = new Map(targets.map((entry) => [entry.key, plantedFor(entry, source)]))
      const destinations = new Set(targets.flatMap(({ destination = [] }) => destination))
      const valuesOf = (kind: 'genuine' | 'hostile', keys: Iterable<string>): Values =>
        Object.fromEntries(
          [...keys].map((key) => [key, destinationValues(catalogue.get(key) as CatalogueEntry, at)[kind]]),
        )
      const genuine = valuesOf('genuine', destinations)
      const plantedValues = Object.fromEntries([...planted].map(([key, { value }]) => [key, value]))
      const all: Values = { ...genuine, ...plantedValues }
      const written = (value: JsonValue) => (typeof value === 'string' ? value : JSON.stringify(value))
      const environment = Object.fromEntries(
        Object.entries(source === 'environment' ? all : {}).map(([key, value]) => [
          catalogue.get(key)?.env ?? '',
          written(value),
        ]),
      )
      const started = await start(t, await newDatabase(t), source === 'file' ? all : {}, environment)
      const { attack, config, centre } = started
      const secrets = [...planted.values()].flatMap((one) => one.secrets)
      const actor = { name: 'root' }
      const store = (values: Values) =>
        centre.save(
          Object.entries(values).map(([key, value]) => ({ key, action: 'set' as const, value })),
          { actor, verify: false },
        )
      /** Enters all values again, as the administrator root does. */
      const restore = () =>
        source === 'database'
          ? store(all)
          : centre.save(
              [...destinations]
                .filter((one) => config.explain(one)?.effective.source === 'database')
                .map((one) => ({ key: one, action: 'reset' as const })),
              { actor },
            )
      const open = {
        'platform.outgoing-http.allow-http': true,
        'platform.outgoing-http.allowed-cidrs': ['127.0.0.0/8'],
        'platform.outgoing-http.allowed-hosts': [new URL(attacker.url).host],
        'platform.outgoing-http.allowed-ports': [],
        'platform.notification.channels.webhook.enabled': true,
        'platform.notification.channels.webhook.endpoint-attribute': 'any',
        'platform.sms.country-code': '86',
        'platform.sms.twilio.from': '+15005550006',
      }
      if (source === 'database') await store(all)
      for (const { key } of targets) t.equal(config.explain(key)?.effective.source, source, `${key} is in use`)
      const before = centre.version
      let attacks = 0
      const leaks: string[] = []
      const isLeaking = (key: string, own: readonly string[]) => {
        const value = config.explain(key)?.effective
        const isForeign = own.some(
          (name) =>
            JSON.stringify(config.explain(name)?.effective.value) !== JSON.stringify(genuine[name]) &&
            catalogue.get(name)?.sensitive !== true,
        )
        return value?.source === source && isForeign
      }
      for (const { key, destination = [] } of targets) {
        const sets = [...destination.map((one) => [one]), ...(destination.length > 1 ? [destination] : [])]
        for (const keys of sets) {
          const hostile = valuesOf('hostile', keys)
          for (const [way, write] of Object.entries(ways)) {
            attacks += 1
            const drivers = key.includes('.sms.') ? { 'platform.sms.driver': key.split('.')[2] ?? '' } : {}
            const [path, body] = write({ ...open, ...drivers, ...hostile })
            const result = await attack('POST', `${centrePath}/${path}`, body)
            if (result.code !== '200') leaks.push(`${key} ${way}: the attack was not carried out: ${result.text}`)
            if (isLeaking(key, keys)) leaks.push(`${key} by ${way} of ${keys.join(', ')}`)
            const last = config.explain(key)?.sources.find((one) => one.source === source)
            if (source !== 'database' && last?.withheld === undefined) leaks.push(`${key} is still used after ${way}`)
            if (source === 'database' && last !== undefined) leaks.push(`${key} is still stored after ${way}`)
            if (way === 'save' && keys === sets.at(-1)) await useSecrets(started, key)
            // The administrator root enters all values again. Then the attacker restores the earlier version, which
            // contains the changed destination.
            const bad = centre.version
            await restore()
            if (config.explain(key)?.effective.source !== source) leaks.push(`${key} is not restored after ${way}`)
            if (way !== 'save') continue
            for (const names of [keys, [...keys, key], undefined]) {
              attacks += 1
              const back = { toVersion: bad, verify: false, ...(names && { keys: names }) }
              await attack('POST', `${centrePath}/rollback`, back)
              if (isLeaking(key, keys)) leaks.push(`${key} by rollback of ${names?.join(', ') ?? 'all'}`)
              await attack('POST', `${centrePath}/rollback`, { toVersion: before, verify: false, keys: [key] })
              if (isLeaking(key, keys)) leaks.push(`${key} by rollback of the secret`)
              await restore()
            }
          }
        }
      }
      t.same(leaks, [])
      t.same(attacker.stolen(secrets), [], 'the servers of the attacker got no secret')
      t.ok(attacker.requests.length > 0, 'requests arrived there')
      t.ok(attacker.mail.sessions > 0, 'and mail sessions')
      t.ok(targets.length >= 23)
      const shown = started.answers.join('\n')
      t.same(
        secrets.filter((secret) => shown.includes(secret)),
        [],
        'no response shows one',
      )
      t.comment(
        `${source}: ${attacks} attacks on ${targets.length} secrets, ${attacker.requests.length} requests and ${attacker.mail.sessions} mail sessions at the servers of the attacker, ${attacker.stolen(secrets).length} secrets`,
      )
    },
  )
}

const marker = 'private-content-4711'
const ownKey = 'K'.repeat(40)
const lockedKeys = ({ config }: Started) => config.catalogue.filter(({ editable }) => !editable)

/** Returns the value that the attacker tries to set for a key that the config centre never stores. */
function hostileValue({ key, type, schema }: CatalogueEntry, directory: string): JsonValue {
  if (/signing-key|unsubscribe-key/.test(key)) return ownKey
  if (/root|directory|file$/.test(key)) return directory
  if (Array.isArray(schema['enum'])) return schema['enum'].at(-1) as JsonValue
  return type === 'boolean' ? true : type === 'integer' ? 1 : type === 'object' ? {} : '1h'
}

/** Creates private files in the storage and in another directory of the host. */
async function plantFiles({ running }: Started, outside: string) {
  const files = running.service(storage)
  await files.put('local', 'async-task/1/1.csv', marker)
  await files.put('local', 'private/secret.txt', marker)
  for (const disk of ['local', 'public']) {
    mkdirSync(join(outside, disk), { recursive: true })
    writeFileSync(join(outside, disk, 'secret.txt'), marker)
  }
}

/**
 * Requests every private file with every URL that the attacker can create. Returns the number of requests and the
 * contents.
 */
async function readFiles({ server }: Started) {
  const seen: string[] = []
  const expires = Math.ceil(Date.now() / 1000) + 600
  for (const path of ['async-task/1/1.csv', 'private/secret.txt', 'secret.txt']) {
    for (const disk of ['local', 'public']) {
      const text = JSON.stringify(['plinth-file-url-v2', disk, path, expires, null, null])
      const signature = createHmac('sha256', ownKey).update(text).digest('base64url')
      for (const url of [
        `/api/v1/storage/files/${disk}/${path}?expires=${expires}&signature=${signature}`,
        `/storage/${path}`,
        `/storage/../${disk}/${path}`,
        `/storage/%2e%2e/${disk}/${path}`,
      ]) {
        seen.push((await server.inject({ method: 'GET', url })).body)
      }
    }
  }
  return seen
}

t.test('no value of any key opens a private file or a session of another user', { timeout: 900_000 }, async (t) => {
  const attacker = await startAttacker(t)
  const db = await newDatabase(t)
  const started = await start(t, db)
  const { attack, call, config } = started
  const outside = join(db.directory, 'outside')
  await plantFiles(started, outside)

  let attacks = 0
  const stored: string[] = []
  for (const entry of lockedKeys(started)) {
    for (const [way, write] of Object.entries(ways)) {
      attacks += 1
      const [path, body] = write({ [entry.key]: hostileValue(entry, outside) })
      if ((await attack('POST', `${centrePath}/${path}`, body)).code === '200') stored.push(`${entry.key} ${way}`)
    }
  }
  t.same(stored, [])
  const seen = await readFiles(started)

  // Sets each key that can be stored to its extreme values, one after another, without a reset.
  let accepted = 0
  const extremes = ({ key, type, schema, format }: CatalogueEntry): readonly JsonValue[] => {
    const bounds = (low: string, high: string, least: JsonValue, most: JsonValue) =>
      [schema[low] ?? least, schema[high] ?? most] as JsonValue[]
    if (type === 'boolean') return [true, false]
    if (Array.isArray(schema['enum'])) return schema['enum'] as JsonValue[]
    if (type === 'integer' || type === 'number') return bounds('minimum', 'maximum', 0, 1_000_000_000)
    if (format === 'duration') return bounds('formatMinimum', 'formatMaximum', '1ms', '365d')
    if (format === 'url') return [attacker.url]
    if (type === 'array') return [[], ['0.0.0.0/0'], ['*']]
    return key.endsWith('-disk') ? ['public', 'local'] : ['log', 'file', '127.0.0.1', attacker.url, '/admin/', 'smtp']
  }
  for (const entry of config.catalogue.filter(({ editable }) => editable)) {
    for (const value of extremes(entry)) {
      attacks += 1
      const response = await attack('POST', `${centrePath}/changes`, {
        changes: [set(entry.key, value)],
        verify: false,
      })
      if (response.code === '200') accepted += 1
      if (response.code === '403') stored.push(`${entry.key} is denied`)
    }
  }
  t.same(stored, [], 'the attacker may change every key')
  await attack('POST', `${centrePath}/changes`, {
    changes: [
      set('platform.mail.driver', 'smtp'),
      set('platform.mail.smtp.host', '127.0.0.1'),
      set('platform.mail.smtp.port', attacker.mail.port),
      set('platform.mail.smtp.security', 'opportunistic'),
      set('platform.mail.smtp.username', ''),
      set('platform.outgoing-http.allow-http', true),
      set('platform.rate-limit.enabled', false),
    ],
  })
  seen.push(...(await readFiles(started)))
  const tokens: string[] = []
  for (const [path, body] of [
    ['auth/login', { username: 'root', password: '' }],
    ['auth/login', { username: 'root', password: 'admin' }],
    ['auth/wallet/login', { chainType: 'evm', address: `0x${'1'.repeat(40)}`, signature: `0x${'11'.repeat(65)}` }],
    ['auth/verify/email-codes', { email: 'root@shop.example' }],
    ['auth/verify/email-codes/check', { email: 'root@shop.example', code: '000000' }],
    ['auth/refresh', {}],
  ] as const) {
    attacks += 1
    if ((await call(undefined, 'POST', path, body)).text.includes('accessToken')) tokens.push(path)
  }
  t.same(tokens, [], 'nobody is signed in')
  t.equal((await attack('GET', 'iam/users/me')).data?.username, 'mallory')
  t.equal((await attack('GET', 'admin/iam/users')).code, '403')
  t.ok(accepted > 300, 'most values were accepted')
  t.same(
    seen.filter((text) => text.includes(marker)),
    [],
    'no private file was read',
  )
  t.comment(
    `${attacks} attacks (${accepted} values accepted), ${seen.length} reads: 0 private files, 0 sign-ins as somebody else`,
  )
})

t.test('stored rows of an earlier version for keys of the process give no access', { timeout: 900_000 }, async (t) => {
  const db = await newDatabase(t)
  const first = await start(t, db)
  const outside = join(db.directory, 'outside')
  await plantFiles(first, outside)
  const em = first.running.service(database).fork()
  const at = { version: 1, updatedAt: new Date(0), updatedBy: 'mallory', stateOf: null }
  const isMoved = ({ key, scope }: CatalogueEntry) =>
    scope === 'process' && /^platform\.(storage|mail|sms|notification)\./.test(key)
  const moved = lockedKeys(first).filter(isMoved)
  t.same(
    moved.map(({ key }) => key),
    [
      'platform.mail.file.directory',
      'platform.notification.channels.mail.unsubscribe-key',
      'platform.sms.file.directory',
      'platform.storage.root',
      'platform.storage.signing-key',
    ],
  )
  for (const entry of moved) {
    const configValue = JSON.stringify(hostileValue(entry, outside))
    em.create(ConfigRow, { ...at, configKey: entry.key, configValue, masterKeyId: null, sensitive: false })
  }
  await em.flush()
  await first.running.stop('upgrade')
  const second = await start(t, db)
  const seen = await readFiles(second)
  t.same(
    seen.filter((text) => text.includes(marker)),
    [],
  )
  for (const { key } of moved) t.not(second.config.explain(key)?.effective.source, 'database', key)
  t.comment(`${moved.length} rows, ${seen.length} reads: 0 private files`)
})
