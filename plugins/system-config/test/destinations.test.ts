import { database } from '@plinth/database'
import { onEachDatabase, onSqlite, startMigrated, type TestDatabase } from '@plinth/database/testing'
import { type AuditEntry, auditTrail, definePlugin, key } from '@plinth/kernel'
import { assertMembers, manualClock } from '@plinth/kernel/testing'
import { type ConfigCentre, type ConfigChange, configCentre } from '@plinth/system-config'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { ConfigRow } from '../src/entities.ts'
import { encrypt, newMasterKey } from '../src/secrets/secret-box.ts'
import { operator, productOn, type StartOptions } from './fixtures/products.ts'

const text = (options: object = {}) => key.string({ title: 'x', default: '', reload: 'live', ...options })
const keys = {
  'platform.mailer.host': text({ default: 'mail.example' }),
  'platform.mailer.password': text({ sensitive: true, destination: ['platform.mailer.host'] }),
  'platform.mailer.hook': key.url({ title: 'x', sensitive: true, reload: 'live', destination: [] }),
  'platform.mailer.hook-token': text({ sensitive: true, destination: ['platform.mailer.hook'] }),
  'platform.mailer.directory': text({ default: 'data', scope: 'process' }),
} as const
const host = 'platform.mailer.host'
const password = 'platform.mailer.password'
const hook = 'platform.mailer.hook'
const token = 'platform.mailer.hook-token'
const by = { actor: operator }

const audits: AuditEntry[] = []
const mailer = definePlugin({
  id: 'test.mailer',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [auditTrail],
  config: keys,
  setup({ contribute }) {
    contribute(auditTrail, 'test', {
      record: async (entry) => {
        audits.push(entry)
      },
    })
  },
})

async function start(t: Test, db: TestDatabase, options: StartOptions = {}) {
  const { config, ...rest } = options
  const running = await startMigrated(productOn(db, [mailer], config), { clock: manualClock(), ...rest })
  t.teardown(() => running.stop('test ended'))
  const centre: ConfigCentre = running.service(configCentre)
  const read = (name: keyof typeof keys) => running.runtimeOf('test.mailer')?.config.get(name)
  return { running, centre, read }
}
const set = (name: keyof typeof keys, value: string): ConfigChange => ({ key: name, action: 'set', value })
const outcomes = ({ effects }: { readonly effects: readonly { key: string; outcome: string }[] }) =>
  effects.map((effect) => [effect.key, effect.outcome])
const stored = async (centre: ConfigCentre) => (await centre.list('@stored')).map((item) => item.key)

onEachDatabase(
  t,
  'a change of the destination without the secret removes the secret, and reports it',
  async (t, db) => {
    const { centre, read } = await start(t, db)
    await centre.save([set(host, 'a.example'), set(password, 'secret-a'), set(hook, 'https://a.example/x')], by)
    await centre.save([set(token, 'token-a')], by)
    t.same([read(password), read(token)], ['secret-a', 'token-a'])

    const plan = await centre.preview([set(host, 'b.example')])
    t.same(outcomes(plan), [
      [host, 'applied'],
      [password, 'unset'],
    ])
    t.match(plan.effects[1], { before: /\*/, after: undefined, reason: /platform\.mailer\.host changes/ })
    t.same([read(password), (await stored(centre)).length], ['secret-a', 4], 'a preview changes nothing')

    audits.length = 0
    const saved = await centre.save([set(host, 'b.example'), set(hook, 'https://b.example/y')], by)
    t.same(outcomes(saved).slice(2), [
      [token, 'unset'],
      [password, 'unset'],
    ])
    t.same([read(host), read(password), read(token)], ['b.example', '', ''])
    t.same(await stored(centre), [hook, host])
    assertMembers(t, audits, [
      { action: 'configuration.save', summary: { set: [host, hook], reset: [], unset: [token, password] } },
    ])
    const { items } = await centre.history({ key: password }, { size: 1, offset: 0, count: 'none' })
    assertMembers(t, items, [{ version: saved.version, after: undefined }])

    await centre.save([set(host, 'c.example'), set(password, 'secret-c')], by)
    t.equal(read(password), 'secret-c', 'together with its secret a destination can change')
    const removed = await centre.save([{ key: host, action: 'reset' }], by)
    t.same(outcomes(removed), [
      [host, 'applied'],
      [password, 'unset'],
    ])
  },
)

onEachDatabase(t, 'a rollback restores a secret only with the destination that it was entered for', async (t, db) => {
  const { centre, read } = await start(t, db)
  await centre.save([set(host, 'a.example'), set(password, 'secret-a')], by)
  await centre.save([set(host, 'b.example'), set(password, 'secret-b')], by)
  await centre.rotateSecrets()
  const alone = await centre.rollback(1, { ...by, keys: [password] })
  assertMembers(t, alone.effects, [{ key: password, outcome: /^rejected$/, reason: /another destination/ }])
  t.equal(read(password), 'secret-b', 'the secret of the other host stays where it was')

  const onlyHost = await centre.preview(await centre.rollbackChanges(1, [host]))
  t.same(outcomes(onlyHost), [
    [host, 'applied'],
    [password, 'unset'],
  ])
  await centre.rollback(1, by)
  t.same([read(host), read(password)], ['a.example', 'secret-a'])
  await centre.save([{ key: password, action: 'reset' }, set(host, 'b.example')], by)
  await centre.rollback(2, { ...by, keys: [password] })
  t.equal(read(password), 'secret-b')
})

onEachDatabase(t, 'an import obeys the rule for destinations', async (t, db) => {
  const { centre, read } = await start(t, db)
  const document = (values: Record<string, string>) => ({ format: 'plinth-config/1', values }) as const
  await centre.save([set(host, 'a.example'), set(password, 'secret-a')], by)
  const merged = await centre.import(document({ [host]: 'b.example' }), { ...by, mode: 'merge' })
  t.same(outcomes(merged), [
    [host, 'applied'],
    [password, 'unset'],
  ])
  t.equal(read(password), '')
  await centre.import(document({ [host]: 'b.example', [password]: 'secret-b' }), { ...by, mode: 'merge' })
  t.equal(read(password), 'secret-b')
  await centre.import(document({}), { ...by, mode: 'replace' })
  t.same([read(host), read(password)], ['mail.example', ''])
})

onSqlite(t, 'a secret of the environment applies while its destination is not stored', async (t, db) => {
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  const environment = { PLATFORM_MAILER_HOST: 'a.example', PLATFORM_MAILER_PASSWORD: 'secret-of-process' }
  const { centre, read } = await start(t, db, { environment, logger })
  t.equal(read(password), 'secret-of-process')
  const saved = await centre.save([set(host, 'b.example')], by)
  t.match(saved.effects[1], { key: password, outcome: /^unset$/, reason: /PLATFORM_MAILER_PASSWORD is not used/ })
  t.equal(read(password), '')
  t.match((await centre.get(password)).problem, /plinth config reset platform\.mailer\.host/)
  t.equal(lines.filter((line) => line.includes('a secret is not used')).length, 1)
  await centre.save([set(hook, 'https://a.example/x')], by)
  t.equal(lines.filter((line) => line.includes('a secret is not used')).length, 1, 'the log says it once')
  await centre.save([{ key: host, action: 'reset' }], by)
  t.equal(read(password), 'secret-of-process')
})

onSqlite(t, 'a destination on the command line disables a stored secret for that process', async (t, db) => {
  const first = await start(t, db)
  await first.centre.save([set(host, 'a.example'), set(password, 'secret-a')], by)
  const other = await start(t, db, { set: { [host]: 'b.example' } })
  t.equal(other.read(password), '')
  t.match((await other.centre.get(password)).problem, /another destination/)
  t.same(
    (await other.centre.list('@problem')).map((item) => item.key),
    [password],
  )
  await first.centre.refresh()
  t.equal(first.read(password), 'secret-a', 'the other process goes on')
})

onEachDatabase(t, 'during the upgrade a stored secret is bound to its current destination', async (t, db) => {
  const masterKey = newMasterKey()
  const config = { 'platform.system-config.master-key': masterKey.bytes.toString('base64') }
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  // Rows as an earlier version stored them: secrets without a destination, and a value of the key `directory`, which is
  // now set per process.
  const earlier = await start(t, db, { config })
  const em = earlier.running.service(database).fork()
  const members = { version: 0, updatedAt: new Date(0), updatedBy: 'alice', stateOf: null }
  const plain = { ...members, masterKeyId: null, sensitive: false }
  const sealed = (configKey: string, value: string) => {
    const configValue = encrypt(masterKey, configKey, JSON.stringify(value))
    return { ...members, configKey, configValue, masterKeyId: masterKey.id, sensitive: true }
  }
  em.create(ConfigRow, { ...plain, configKey: host, configValue: '"a.example"' })
  em.create(ConfigRow, { ...plain, configKey: 'platform.mailer.directory', configValue: '"/srv/files"' })
  em.create(ConfigRow, sealed(password, 'secret-a'))
  em.create(ConfigRow, sealed(token, 'token-a'))
  await em.flush()
  await earlier.running.stop('upgrade')

  const command = await start(t, db, { config, roles: ['cli'] })
  t.equal(command.read(password), 'secret-a', 'a command uses it too')
  const rows = () => command.running.service(database).fork().find(ConfigRow, { sensitive: true })
  t.notOk(
    (await rows()).some((row) => row.configValue.startsWith('bound:')),
    'and stores nothing about it',
  )

  const { centre, read } = await start(t, db, { config, logger })
  t.same([read(host), read(password), read(token)], ['a.example', 'secret-a', 'token-a'])
  t.ok((await rows()).every((row) => row.configValue.startsWith('bound:')))
  t.equal(centre.version, 0, 'this is no change of a value')
  const other = await start(t, db, { config, set: { [host]: 'b.example' } })
  t.equal(other.read(password), '', 'from now on it has this destination')
  await centre.save([set(host, 'b.example')], by)
  t.same([read(password), read(token)], ['', 'token-a'])

  t.equal(read('platform.mailer.directory'), 'data', 'a stored value of a key of the process is ignored')
  const warning = lines.find((line) => line.includes('platform.mailer.directory is ignored')) ?? ''
  for (const part of ['/srv/files', 'PLATFORM_MAILER_DIRECTORY', 'plinth config reset platform.mailer.directory']) {
    t.ok(warning.includes(part), part)
  }
  t.same(outcomes(await centre.save([{ key: 'platform.mailer.directory', action: 'reset' }], by)).length, 1)
})

onSqlite(t, 'an unreadable secret of an earlier version is never bound to a later destination', async (t, db) => {
  const masterKey = newMasterKey()
  const first = await start(t, db, {
    config: { 'platform.system-config.master-key': masterKey.bytes.toString('base64') },
  })
  const em = first.running.service(database).fork()
  const configValue = encrypt(masterKey, password, JSON.stringify('secret-a'))
  const members = { version: 0, updatedAt: new Date(0), updatedBy: 'alice', stateOf: null, sensitive: true }
  em.create(ConfigRow, { ...members, configKey: password, configValue, masterKeyId: masterKey.id })
  await em.flush()
  await first.running.stop('the master key is lost')
  const without = await start(t, db)
  const saved = await without.centre.save([set(host, 'b.example')], by)
  t.same(outcomes(saved), [
    [host, 'applied'],
    [password, 'unset'],
  ])
  t.same(await stored(without.centre), [host])
})
