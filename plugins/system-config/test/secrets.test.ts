import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { assertMembers, manualClock, rejectsWith, startForTest } from '@plinth/dev/testing'
import { onDatabase, onSqlite, type TestDatabase } from '@plinth/dev/testing/database'
import { BusinessError, dataCheck, definePlugin, healthCheck, type JsonValue, key, redact } from '@plinth/kernel'
import { maxValueLength, type RunningProduct } from '@plinth/kernel/host'
import { type ConfigChange, configCentre, declarePluginKey, PluginEncryptionKey } from '@plinth/system-config'
import { pino } from 'pino'
import t from 'tap'
import { ConfigRow, HistoryRow, InstanceRow } from '../src/entities.ts'
import { decrypt, encrypt, newMasterKey } from '../src/secrets/secret-box.ts'
import { operator, productOn, samplePlugin, startOn } from './fixtures/products.ts'

const by = { actor: operator }
const secretKey = 'platform.sample.secret'
const put = (value: string, key = secretKey): ConfigChange => ({ key, action: 'set', value })
const keyFileOf = (db: TestDatabase) => join(db.directory, 'master.key')
const readKeys = (db: TestDatabase) => readFileSync(keyFileOf(db), 'utf8').trim().split('\n')

/** Returns the value that the plugin currently reads. */
async function inForce(running: Awaited<ReturnType<typeof startOn>>['running']): Promise<unknown> {
  return running.runtimeOf('test.sample')?.config.get(secretKey)
}

async function rowsOf(running: Awaited<ReturnType<typeof startOn>>['running']): Promise<string> {
  const em = running.service(database).fork()
  return JSON.stringify(
    await Promise.all([ConfigRow, HistoryRow, InstanceRow].map((entity) => em.findAll(entity as typeof ConfigRow))),
  )
}

async function rejection(work: Promise<unknown>): Promise<BusinessError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof BusinessError) return error
  throw error ?? new Error('It should have been refused.')
}

onDatabase(t, 'K-009 planted secrets appear nowhere, neither in plain text nor in base64', async (t, db) => {
  const secrets = ['planted-first-secret', 'planted-second-secret', 'wrong-planted-secret', 'planted-token-secret']
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
  const running = await startForTest(productOn(db), { clock: manualClock(), logger })
  t.teardown(() => running.stop('test ended'))

  const centre = running.service(configCentre)
  const answers: unknown[] = []
  const keep = async (work: Promise<unknown>) => {
    const response = await work.catch((error: unknown) => error)
    answers.push(
      response,
      response instanceof BusinessError ? [response.message, response.stack, response.data] : undefined,
    )
  }
  await keep(centre.save([put('planted-first-secret'), put('planted-token-secret', 'platform.sample.token')], by))
  await keep(centre.save([put('planted-second-secret')], by))
  await keep(centre.preview([put('planted-first-secret')]))
  await keep(centre.save([put('wrong-planted-secret')], by))
  await keep(centre.verify(secretKey, 'wrong-planted-secret'))
  await keep(centre.verify(secretKey, 7))
  await keep(centre.rollbackChanges(1).then((changes) => centre.preview(changes)))
  await keep(centre.list(''))
  await keep(centre.list('planted'))
  await keep(centre.get(secretKey))
  await keep(centre.history({}, { size: 50, offset: 0, count: 'exact' }))
  await keep(centre.export())
  await keep(centre.instances())
  await keep(centre.rotateSecrets())
  await centre.refresh()

  const seen: Record<string, string> = {
    answers: JSON.stringify(answers),
    log: lines.join(''),
    rows: await rowsOf(running),
    explanations: JSON.stringify(running.config.list()),
  }
  for (const name of readdirSync(db.directory)) seen[name] = readFileSync(join(db.directory, name), 'latin1')
  for (const [where, text] of Object.entries(seen)) {
    t.ok(text.length > 0, `${where} holds something`)
    t.equal(redact(text, secrets), text, `no secret in ${where}`)
  }
  t.match(seen['answers'], /\*{6}/)
  t.equal(await inForce(running), 'planted-second-secret', 'the owner reads it')
})

onSqlite(t, 'a secret is verified by its plugin before it is stored', async (t, db) => {
  const { centre, running } = await startOn(t, db)
  t.same(await centre.verify(secretKey, 'right-secret'), { outcome: 'verified' })
  t.same(await centre.verify(secretKey, 'wrong-secret'), { outcome: 'refused', reason: 'the service refuses ******' })
  t.same(await centre.verify('platform.sample.token', 'anything'), { outcome: 'unverified' })
  const error = await rejection(
    centre.save([put('wrong-secret'), { key: 'platform.sample.limit', action: 'set', value: 3 }], by),
  )
  assertMembers(t, error, { code: '400', data: { errors: [{ field: secretKey, rule: 'refused' }] } })
  t.equal(centre.version, 0)
  await centre.save([put('wrong-secret')], { ...by, verify: false })
  t.equal(await inForce(running), 'wrong-secret')
  t.hasStrict(await rejection(centre.verify('platform.nothing', 'x')), { code: '404' })
})

onDatabase(t, 'a user who may replace a secret may check whether a value equals the stored one', async (t, db) => {
  const { centre } = await startOn(t, db)
  const token = 'platform.sample.token'
  const ask = (key: string, value: JsonValue) => centre.isStoredSecret(key, value, operator)
  t.equal(await ask(secretKey, 'first'), undefined, 'none is stored')
  await centre.save([put('first')], by)
  t.equal(await ask(secretKey, 'first'), true)
  for (const guess of ['firs', 'first ', 'First', '', '******', 7]) t.equal(await ask(secretKey, guess), false)
  await centre.save([put('second')], by)
  t.equal(await ask(secretKey, 'first'), false, 'it was replaced')
  t.equal(await ask(secretKey, 'second'), true)
  t.equal(await ask(token, 'second'), undefined, 'each key has its own')
  await centre.save([{ key: 'platform.sample.limit', action: 'set', value: 7 }], by)
  t.equal(await ask('platform.sample.limit', 7), undefined, 'what is no secret is shown anyway')
  await centre.rotateSecrets()
  t.equal(await ask(secretKey, 'second'), true)
  rmSync(keyFileOf(db))
  const lost = await startOn(t, db)
  t.equal(await lost.centre.isStoredSecret(secretKey, 'second', operator), undefined, 'it cannot be decrypted')
  t.hasStrict(await rejection(ask('platform.nothing', 'x')), { code: '404' })
})

onDatabase(t, 'rotation re-encrypts values and history, and the file keeps only the newest key', async (t, db) => {
  const a = await startOn(t, db)
  const b = await startOn(t, db)
  await a.centre.save([put('first-secret')], by)
  await a.centre.save([put('second-secret')], by)
  const [oldKey = ''] = readKeys(db)
  const before = await rowsOf(a.running)
  const [report] = await Promise.all([
    a.centre.rotateSecrets(),
    b.centre.rotateSecrets(),
    ...Array.from({ length: 4 }, (_, index) => b.centre.save([put(`busy-secret-${index}`)], by)),
  ])
  assertMembers(t, report, { unreadable: [] })
  t.equal(readKeys(db).length, 1)
  t.not(readKeys(db)[0], oldKey)
  t.not(await rowsOf(a.running), before)
  for (const { centre, running } of [a, b]) {
    await centre.refresh()
    t.match(await inForce(running), /^busy-secret-\d$/)
    t.same(await centre.list('@problem'), [])
  }
  await a.centre.rollback(1, by)
  t.equal(await inForce(a.running), 'first-secret', 'history was re-encrypted too')
  t.same(await a.centre.rotateSecrets().then(({ unreadable }) => unreadable), [])
})

onDatabase(
  t,
  'an interrupted rotation leaves every secret readable, and the next rotation completes it',
  async (t, db) => {
    const { centre, running } = await startOn(t, db)
    await centre.save([put('first-secret')], by)
    const service = running.service(database)
    const transactional = service.transactional.bind(service)
    for (const stepsDone of [0, 1, 2]) {
      let left = stepsDone
      service.transactional = (work) => {
        if (left-- > 0) return transactional(work)
        return Promise.reject(new Error('crash'))
      }
      t.hasStrict(await rejection(centre.rotateSecrets()), { code: '503' })
      service.transactional = transactional
      const after = await startOn(t, db)
      t.equal(await inForce(after.running), 'first-secret', `after ${stepsDone} steps`)
      t.same(await after.centre.list('@problem'), [])
    }
    t.equal(readKeys(db).length, 3, 'the two that came so far left a key each')
    await centre.rotateSecrets()
    t.equal(readKeys(db).length, 1)
    t.equal(await inForce((await startOn(t, db)).running), 'first-secret')
  },
)

onDatabase(
  t,
  'a long history is re-encrypted in small steps: saves continue in between, and a crash costs nothing',
  async (t, db) => {
    const { centre, running } = await startOn(t, db)
    await centre.save([put('first-secret')], by)
    const service = running.service(database)
    const em = service.fork()
    const [first] = await em.findAll(HistoryRow)
    if (first === undefined) throw new Error('There is no history.')
    // These rows are older than all other rows, so that the version numbers of real changes stay free.
    const older = Array.from({ length: 450 }, (_, index) => ({ ...first, version: -1 - index }))
    await em.insertMany(HistoryRow, older)
    const keyIds = async () => {
      const rows = await service.query<{ id: string; count: number | string }>(
        'select new_master_key_id as id, count(*) as count from sys_config_history group by new_master_key_id',
      )
      return rows.map(({ count }) => Number(count)).sort((a, b) => a - b)
    }
    const transactional = service.transactional.bind(service)
    let steps = 0
    service.transactional = (work) => (++steps > 5 ? Promise.reject(new Error('crash')) : transactional(work))
    t.hasStrict(await rejection(centre.rotateSecrets()), { code: '503' })
    t.same(await keyIds(), [200, 251], 'it was cut short in the middle')
    t.equal(readKeys(db).length, 2)
    service.transactional = transactional
    const after = await startOn(t, db)
    t.same(await after.centre.list('@problem'), [])

    let saved = 0
    let isSaving = false
    service.transactional = async (work) => {
      const response = await transactional(work)
      if (!isSaving && readKeys(db).length > 1) {
        isSaving = true
        saved = await after.centre.save([put(`busy-${saved}`)], by).then(({ version }) => version)
        isSaving = false
      }
      return response
    }
    const report = await centre.rotateSecrets()
    service.transactional = transactional
    assertMembers(t, report, { unreadable: [] })
    t.ok(saved >= 4, `${saved} saves found their turn`)
    t.equal((await keyIds()).length, 1, 'all of it is encrypted with one key')
    t.equal(readKeys(db).length, 1)
    await after.centre.rollback(1, by)
    t.equal(await inForce(after.running), 'first-secret')
  },
)

onSqlite(t, 'without its master key a secret is reported and never overwritten; the product starts', async (t, db) => {
  const first = await startOn(t, db)
  await first.centre.save([put('first-secret'), { key: 'platform.sample.limit', action: 'set', value: 3 }], by)
  await first.running.stop('key lost')
  const keyText = readFileSync(keyFileOf(db), 'utf8')
  const breakages: [string, () => void, RegExp][] = [
    ['missing', () => removeKey(db), /master key [0-9a-f]{16}, which is missing/],
    ['broken', () => writeFileSync(keyFileOf(db), 'no key at all\n', { mode: 0o600 }), /is not 32 bytes/],
    ['empty', () => writeFileSync(keyFileOf(db), '', { mode: 0o600 }), /is empty/],
    ['another', () => writeFileSync(keyFileOf(db), `${randomBytes(32).toString('base64')}\n`), /is missing/],
  ]
  for (const [name, breakIt, text] of breakages) {
    breakIt()
    const { centre, running } = await startOn(t, db)
    const before = await rowsOf(running)
    t.match(await checkFailure(running), `decrypts the stored secrets of ${secretKey}`)
    assertMembers(
      t,
      await centre.list('@problem'),
      [{ key: secretKey, problem: text, stored: { value: undefined } }],
      name,
    )
    t.equal(await inForce(running), '', 'the weaker source counts')
    t.equal(running.runtimeOf('test.sample')?.config.get('platform.sample.limit'), 3, 'other values are not concerned')
    if (name !== 'another') {
      t.hasStrict(await rejection(centre.save([put('new-secret')], by)), {
        code: '503',
        reason: 'system-config.master-key',
      })
      t.hasStrict(await rejection(centre.rotateSecrets()), { code: '503', reason: 'system-config.master-key' })
    } else assertMembers(t, await centre.rotateSecrets(), { reencrypted: 0, unreadable: [secretKey] })
    assertMembers(t, (await centre.export()).omittedSecrets, [secretKey])
    if (name !== 'another') t.equal(existsSync(keyFileOf(db)), name !== 'missing', 'no key was made up')
    const strip = (rows: string) => JSON.parse(rows).slice(0, 2)
    t.same(strip(await rowsOf(running)), strip(before), 'nothing was overwritten')
    await running.stop('next')
  }
  writeFileSync(keyFileOf(db), keyText, { mode: 0o600 })
  const { running } = await startOn(t, db)
  t.equal(await inForce(running), 'first-secret', 'with the key back, everything is')
  t.equal(await checkFailure(running), undefined)
})

/** Runs the data check of stored secrets, and returns its error. */
async function checkFailure(running: RunningProduct): Promise<string | undefined> {
  const check = running.contributions(dataCheck).get('system-config.secrets')
  const { signal } = new AbortController()
  return Promise.resolve(check?.({ signal, progress: () => {} })).then(
    () => (check === undefined ? 'there is no check' : undefined),
    (error: Error) => error.message,
  )
}

function removeKey(db: TestDatabase): void {
  rmSync(keyFileOf(db))
}

onSqlite(t, 'a preview does not tell whether a guessed secret is the right one', async (t, db) => {
  const { centre } = await startOn(t, db)
  for (const key of [secretKey, 'platform.sample.token']) {
    await centre.save([put('the-real-secret', key)], by)
    const [right, wrong] = [
      await centre.preview([put('the-real-secret', key)]),
      await centre.preview([put('guess', key)]),
    ]
    t.same(right, wrong, key)
  }
})

onSqlite(
  t,
  'K-009 the size of sensitive values is limited, alone and together, before anything is stored',
  async (t, db) => {
    const names = Array.from({ length: 17 }, (_, index) => `platform.vault.secret-${index}`)
    const declaration = key.string({ title: 'Secret', sensitive: true, reload: 'live' })
    const vault = definePlugin({
      id: 'test.vault',
      version: '1.0.0',
      kernel: '^1.0.0',
      config: Object.fromEntries(names.map((name) => [name, declaration])),
    })
    const { centre, running } = await startOn(t, db, { plugins: [samplePlugin, vault] })
    const long = put('x'.repeat(maxValueLength + 1), names[0])
    const tooLong = { field: names[0], rule: 'maxLength', message: /must have at most 65536 characters/ }
    assertMembers(t, (await centre.preview([long])).faults, [tooLong])
    assertMembers(t, await rejection(centre.save([long], by)), { code: /^400$/, data: { errors: [tooLong] } })
    t.hasStrict(await centre.verify(names[0] ?? '', 'x'.repeat(900_000)), { outcome: 'refused' })

    const full = names.map((name, index) => put(String.fromCharCode(97 + index).repeat(maxValueLength), name))
    const tooMuch = {
      field: names[16],
      rule: 'maxLength',
      message: /must leave all sensitive values of its source within/,
    }
    assertMembers(t, (await centre.preview(full)).faults, [tooMuch])
    assertMembers(t, await rejection(centre.save(full, by)), { data: { errors: [tooMuch] } })
    t.equal(centre.version, 0, 'nothing was stored')
    await centre.save(full.slice(0, 16), by)
    assertMembers(t, await rejection(centre.save(full.slice(16), by)), { data: { errors: [tooMuch] } })
    assertMembers(t, (await centre.preview([put('short', names[0]), ...full.slice(16)])).faults, [tooMuch])
    const swap = [{ key: names[0] ?? '', action: 'reset' } as const, ...full.slice(16)]
    await centre.save(swap, by)
    t.equal(running.runtimeOf('test.vault')?.config.get(names[16] ?? ''), 'q'.repeat(maxValueLength))
  },
)

onSqlite(t, 'configured keys: the first encrypts, all decrypt, and the key file is not needed', async (t, db) => {
  const [one, two] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')]
  const variable = (value: string) => ({ environment: { PLATFORM_SYSTEM_CONFIG_MASTER_KEY: value } })
  const first = await startOn(t, db, variable(one))
  await first.centre.save([put('first-secret')], by)
  t.notOk(existsSync(keyFileOf(db)))
  const second = await startOn(t, db, variable(`${two}, ${one}`))
  t.equal(await inForce(second.running), 'first-secret')
  assertMembers(t, await second.centre.rotateSecrets(), { reencrypted: 2, unreadable: [] })
  t.equal(await inForce((await startOn(t, db, variable(two))).running), 'first-secret')
  const broken = await startOn(t, db, variable('short'))
  assertMembers(t, await broken.centre.list('@problem'), [
    { problem: /Key 1 of PLATFORM_SYSTEM_CONFIG_MASTER_KEY is not 32 bytes/ },
  ])
  t.hasStrict(await rejection(broken.centre.save([put('x')], by)), { code: '503', reason: 'system-config.master-key' })
})

onSqlite(t, 'an unusable master key is a warning before the first secret is saved', async (t, db) => {
  const checkOf = async ({ running }: Awaited<ReturnType<typeof startOn>>) =>
    running.contributions(healthCheck).get('system-config.master-key')?.(new AbortController().signal)
  t.same(await checkOf(await startOn(t, db)), { warnings: [] }, 'no key is needed yet')
  const broken = await startOn(t, db, { environment: { PLATFORM_SYSTEM_CONFIG_MASTER_KEY: 'short' } })
  assertMembers(t, await checkOf(broken), { warnings: [/Key 1 of PLATFORM_SYSTEM_CONFIG_MASTER_KEY is not 32 bytes/] })
  writeFileSync(keyFileOf(db), 'five!', { mode: 0o600 })
  assertMembers(t, await checkOf(await startOn(t, db)), { warnings: [/is not 32 bytes/] })
})

onSqlite(t, 'the key file is private to its owner; a wider mode causes one warning', async (t, db) => {
  const first = await startOn(t, db)
  await first.centre.save([put('first-secret')], by)
  t.equal(statSync(keyFileOf(db)).mode & 0o777, 0o600)
  t.same(
    readdirSync(db.directory).filter((name) => name.startsWith('master.key.')),
    [],
    'no draft stays behind',
  )
  chmodSync(keyFileOf(db), 0o644)
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  const running = await startForTest(productOn(db), { clock: manualClock(), logger })
  t.teardown(() => running.stop('test ended'))
  t.equal(lines.filter((line) => line.includes('chmod 600')).length, 1)
})

onSqlite(t, 'if the config centre cannot store a new plugin key, its error contains the reason', async (t, db) => {
  const name = 'platform.vault.key'
  const text = { en: 'Key', 'zh-CN': '密钥' }
  const vault = definePlugin({
    id: 'test.vault',
    version: '1.0.0',
    kernel: '^1.0.0',
    config: { [name]: declarePluginKey({ title: text, description: text }) },
  })
  const start = async (masterKey: string) => {
    const environment = { PLATFORM_SYSTEM_CONFIG_MASTER_KEY: masterKey }
    const { running, centre } = await startOn(t, db, { plugins: [vault], environment })
    const stored = () => String(running.runtimeOf('test.vault')?.config.get(name))
    return new PluginEncryptionKey({ plugin: 'test.vault', name, centre, stored })
  }
  const unusable = await start('short')
  await rejectsWith(t, unusable.get(), { message: /Key 1 of PLATFORM_SYSTEM_CONFIG_MASTER_KEY is not 32 bytes/ })
  t.equal(await unusable.find(), undefined)
  const masterKey = randomBytes(32).toString('base64')
  const [one, other] = [await start(masterKey), await start(masterKey)]
  const created = await Promise.all([one.get(), other.get()])
  t.equal(created[0].length, 32)
  t.same(created[1], created[0], 'instances that create the key at the same time use the same one')
  t.same(await one.get(), created[0])
})

t.test('a plugin key that another instance creates first is read after the conflict', async (t) => {
  const created = randomBytes(32).toString('base64')
  let [inDatabase, known] = ['', '']
  // A config centre may reject a change before it applies the values of the other instance.
  const centre = {
    saveState: async () => {
      inDatabase = created
      throw new BusinessError('409', 'Another instance was faster.')
    },
    refresh: async () => {
      known = inDatabase
    },
  }
  const key = new PluginEncryptionKey({ plugin: 'test.vault', name: 'platform.vault.key', centre, stored: () => known })
  t.equal((await key.get()).toString('base64'), created)
})

t.test('an encrypted value is bound to its key: a changed, swapped or foreign value is not decrypted', async (t) => {
  const key = newMasterKey()
  const sealed = encrypt(key, 'platform.a', 'secret text 文')
  t.equal(decrypt(key, 'platform.a', sealed), 'secret text 文')
  t.not(encrypt(key, 'platform.a', 'secret text 文'), sealed, 'a fresh nonce each time')
  t.throws(() => decrypt(key, 'platform.b', sealed))
  t.throws(() => decrypt(newMasterKey(), 'platform.a', sealed))
  const bytes = Buffer.from(sealed, 'base64')
  for (const at of [0, 12, 28, bytes.length - 1]) {
    const altered = Buffer.from(bytes)
    altered[at] = (altered[at] ?? 0) ^ 1
    t.throws(() => decrypt(key, 'platform.a', altered.toString('base64')))
  }
  t.throws(() => decrypt(key, 'platform.a', bytes.subarray(0, 20).toString('base64')))
})
