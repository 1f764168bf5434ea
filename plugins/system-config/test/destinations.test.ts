import { database } from '@plinth/database'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { maskedValue } from '@plinth/kernel'
import { pino } from 'pino'
import t from 'tap'
import { ConfigRow } from '../src/entities.ts'
import { encrypt, newMasterKey } from '../src/secrets/secret-box.ts'
import { audits, by, hook, host, outcomes, password, set, start, stored, token } from './fixtures/mailer.ts'

onDatabase(t, 'a change of the destination without the secret removes the secret, and reports it', async (t, db) => {
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
})

onDatabase(t, 'a rollback restores a secret only with the destination that it was entered for', async (t, db) => {
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

onDatabase(t, 'an import obeys the rule for destinations', async (t, db) => {
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

onDatabase(t, 'a secret is only stored for the destination that the caller has seen', async (t, db) => {
  const { centre, read } = await start(t, db)
  const versionOf = async (key: string) => (await centre.get(key)).destinationVersion
  t.equal(await versionOf(host), undefined, 'no secret')
  const seen = (await versionOf(password)) ?? ''
  await centre.save([set(host, 'b.example')], { actor: { name: 'bob' } })
  t.not(await versionOf(password), seen)
  const change = (value: string, expectedDestination: string) => ({ ...set(password, value), expectedDestination })
  const changed = {
    code: '409',
    reason: 'system-config.destination-changed',
    data: { key: password, keys: [host], currentVersion: await versionOf(password), updatedBy: 'bob' },
  }
  await rejectsWith(t, centre.save([change('secret-a', seen)], by), changed)
  await rejectsWith(t, centre.verify(password, 'secret-a', { expectedDestination: seen }), changed)
  t.same([await stored(centre), read(password)], [[host], ''])

  audits.length = 0
  const current = (await versionOf(password)) ?? ''
  const saved = await centre.save([set(host, 'c.example'), change('secret-c', current)], by)
  t.equal(read(password), 'secret-c', 'the caller may change the destination together with the secret')
  t.same(saved.effects[1]?.destination, { [host]: 'c.example' })
  assertMembers(t, audits, [{ summary: { destination: [`${host}: c.example`] } }])

  const plan = await centre.preview([set(token, 'token-a'), set(hook, 'https://a.example/key')])
  t.same(plan.effects[0]?.destination, { [hook]: maskedValue }, 'a destination may itself be a secret')
  const unseen = await centre.save([set(password, 'secret-d')], by)
  t.same(unseen.effects[0]?.destination, { [host]: 'c.example' }, 'a caller who sends no version is told')
  await centre.save([{ key: host, action: 'reset' }], by)
  const initial = await centre.preview([change('secret-e', seen)])
  t.same(initial.effects[0]?.destination, { [host]: 'mail.example' }, 'the default is a destination too')
})
