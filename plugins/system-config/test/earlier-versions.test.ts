/**
 * Tests that versions overlap: this version reads the secrets that earlier versions stored, and stores secrets in a
 * form that earlier versions read.
 */
import { database, updateRows } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onEachDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { upgradeSteps } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import { ConfigRow, HistoryRow } from '../src/entities.ts'
import { by, hook, host, outcomes, password, set, start, token } from './fixtures/mailer.ts'
import { readAsFirst, sealAsFirst, sealCombined } from './fixtures/stored-forms.ts'

type Mailer = Awaited<ReturnType<typeof start>>

const keyFileOf = (db: TestDatabase) => `${db.directory}/master.key`
const storeOf = ({ running }: Mailer) => running.service(database)
const rowOf = (mailer: Mailer, configKey: string) => storeOf(mailer).fork().findOneOrFail(ConfigRow, { configKey })

/** Returns all stored values and history entries as the first version reads them; `unreadable` where it cannot. */
async function readAllAsFirst(mailer: Mailer, db: TestDatabase) {
  const em = storeOf(mailer).fork()
  const read = (key: string, text: string | null | undefined, masterKeyId: string | null | undefined) => {
    try {
      return text == null ? null : readAsFirst(keyFileOf(db), key, text, masterKeyId ?? null)
    } catch {
      return 'unreadable'
    }
  }
  const values = await em.findAll(ConfigRow, { orderBy: { configKey: 'asc' } })
  const history = await em.findAll(HistoryRow, { orderBy: { version: 'asc', configKey: 'asc' } })
  return {
    values: values.map((row) => [row.configKey, read(row.configKey, row.configValue, row.masterKeyId)]),
    history: history.map((row) => [
      row.version,
      row.configKey,
      read(row.configKey, row.oldValue, row.oldMasterKeyId),
      read(row.configKey, row.newValue, row.newMasterKeyId),
    ]),
  }
}

/** Saves a secret as the first version does: it leaves columns that it does not know. */
async function saveAsFirst(mailer: Mailer, db: TestDatabase, key: string, value: string): Promise<void> {
  const store = storeOf(mailer)
  const { text, masterKeyId } = sealAsFirst(keyFileOf(db), key, value)
  const row = await rowOf(mailer, key)
  const [{ version: before = 0 } = {}] = await store.query<{ version: number }>(
    'select version from sys_config_version where id = ?',
    [1],
  )
  const version = Number(before) + 1
  const em = store.fork()
  em.create(HistoryRow, {
    configKey: key,
    version,
    oldValue: row.configValue,
    oldMasterKeyId: row.masterKeyId,
    newValue: text,
    newMasterKeyId: masterKeyId,
    sensitive: true,
    origin: 'save',
    actor: 'alice',
    changedAt: new Date(0),
  })
  await em.flush()
  await updateRows(store, ConfigRow, { configKey: key }, { configValue: text, masterKeyId, version })
  await store.execute('update sys_config_version set version = ? where id = ?', [version, 1])
}

/** Replaces the stored form of a secret, as an earlier version or somebody with access to the database does. */
const replaceForm = (mailer: Mailer, configKey: string, { text, masterKeyId }: ReturnType<typeof sealAsFirst>) =>
  updateRows(storeOf(mailer), ConfigRow, { configKey }, { configValue: text, masterKeyId })

async function restart(t: Test, db: TestDatabase, mailer: Mailer, options: Parameters<typeof start>[2] = {}) {
  await mailer.running.stop('restart')
  return start(t, db, options)
}

onEachDatabase(t, 'the first version reads each stored value and the whole history', async (t, db) => {
  const mailer = await start(t, db)
  const { centre } = mailer
  await centre.save([set(host, 'a.example'), set(password, 'secret-a'), set(hook, 'https://a.example/x')], by)
  await centre.save([set(host, 'b.example'), set(password, 'secret-b')], by)
  await centre.rollback(1, by)
  const values = { [host]: 'c.example', [password]: 'secret-c' }
  await centre.import({ format: 'plinth-config/1', values }, { ...by, mode: 'merge' })
  const expected = {
    values: [
      [hook, 'https://a.example/x'],
      [host, 'c.example'],
      [password, 'secret-c'],
    ],
    history: [
      [1, hook, null, 'https://a.example/x'],
      [1, host, null, 'a.example'],
      [1, password, null, 'secret-a'],
      [2, host, 'a.example', 'b.example'],
      [2, password, 'secret-a', 'secret-b'],
      [3, host, 'b.example', 'a.example'],
      [3, password, 'secret-b', 'secret-a'],
      [4, host, 'a.example', 'c.example'],
      [4, password, 'secret-a', 'secret-c'],
    ],
  }
  t.same(await readAllAsFirst(mailer, db), expected)
  await centre.rotateSecrets()
  t.same(await readAllAsFirst(mailer, db), expected, 'after a rotation')
  const next = await restart(t, db, mailer)
  t.same(await readAllAsFirst(next, db), expected, 'after a restart')
  t.equal(next.read(password), 'secret-c')
})

onEachDatabase(
  t,
  'the first load binds the secrets of an earlier version, and changes no ciphertext',
  async (t, db) => {
    const earlier = await start(t, db)
    await earlier.centre.save([set(host, 'a.example'), set(password, 'x'), set(token, 'token-a')], by)
    const steps = () => earlier.running.contributions(upgradeSteps).get('stored-secrets')?.(new Map())
    t.same(await steps(), [], 'nothing to bind')
    await replaceForm(earlier, password, sealAsFirst(keyFileOf(db), password, 'secret-a'))
    await updateRows(storeOf(earlier), ConfigRow, { configKey: password }, { destination: null })
    const entry = `${password}: the start binds the stored secret to its current destination. Its stored value does not change.`
    t.same(await steps(), [{ change: 'bound', plugin: 'system-config', entry }], 'an upgrade says it before')
    const before = await rowOf(earlier, password)

    const command = await restart(t, db, earlier, { roles: ['cli'] })
    t.equal(command.read(password), 'secret-a', 'a command uses it too')
    t.same(await rowOf(command, password), before, 'but stores nothing')

    const { centre, read, running } = await restart(t, db, command)
    const bound = await rowOf({ centre, read, running }, password)
    t.ok(bound.destination)
    t.same({ ...bound, destination: null }, { ...before, destination: null }, 'only the destination was added')
    t.equal(centre.version, 1, 'this is no change of a value')
    t.same([read(password), read(token)], ['secret-a', 'token-a'])
    const other = await start(t, db, { set: { [host]: 'b.example' } })
    t.equal(other.read(password), '', 'from now on it has this destination')

    await saveAsFirst({ centre, read, running }, db, password, 'secret-b')
    await centre.refresh()
    t.equal(read(password), 'secret-b', 'a secret of an earlier version that runs at the same time is bound again')
    t.not((await rowOf({ centre, read, running }, password)).destination, bound.destination)
    const saved = await centre.import(
      { format: 'plinth-config/1', values: { [host]: 'b.example' } },
      { ...by, mode: 'merge' },
    )
    t.same(outcomes(saved), [
      [host, 'applied'],
      [password, 'unset'],
    ])
  },
)

onEachDatabase(t, 'a destination is not added to a secret that changes while it is bound', async (t, db) => {
  const mailer = await start(t, db)
  await mailer.centre.save([set(host, 'a.example'), set(password, 'secret-a')], by)
  await saveAsFirst(mailer, db, password, 'secret-b')
  // Before the destination is added, a process of another version stores the secret together with its destination.
  const combined = sealCombined(keyFileOf(db), password, 'secret-b', { [host]: 'c.example' })
  const store = storeOf(mailer)
  const execute = store.execute.bind(store)
  let changes = 0
  store.execute = async (sql, parameters) => {
    store.execute = execute
    changes += await replaceForm(mailer, password, combined)
    return execute(sql, parameters)
  }
  await mailer.centre.refresh()
  t.equal(changes, 1)
  t.equal((await rowOf(mailer, password)).configValue, combined.text)
  t.equal(mailer.read(password), '', 'the destination of the other process applies')
})

/** Changes of rows by somebody who can write to the database, but has no master key. */
const alterations: readonly {
  readonly what: string
  readonly alter: (mailer: Mailer) => Promise<unknown>
}[] = [
  {
    what: 'the destination is removed',
    alter: (mailer) => updateRows(storeOf(mailer), ConfigRow, { configKey: password }, { destination: null }),
  },
  {
    what: 'the destination is that of another key',
    alter: async (mailer) => {
      const { destination } = await rowOf(mailer, token)
      await updateRows(storeOf(mailer), ConfigRow, { configKey: password }, { destination: destination ?? null })
    },
  },
  {
    what: 'the destination is that of another secret of the key',
    alter: async (mailer) => {
      const { newDestination } = await storeOf(mailer)
        .fork()
        .findOneOrFail(HistoryRow, { configKey: password, version: 1 })
      await updateRows(storeOf(mailer), ConfigRow, { configKey: password }, { destination: newDestination ?? null })
    },
  },
  {
    what: 'the secret is that of another key',
    alter: async (mailer) => {
      const { configValue, masterKeyId, destination } = await rowOf(mailer, token)
      const columns = { configValue, masterKeyId: masterKeyId ?? null, destination: destination ?? null }
      await updateRows(storeOf(mailer), ConfigRow, { configKey: password }, columns)
    },
  },
]

onEachDatabase(t, 'after reseal, nobody can bind a secret of an earlier version again', async (t, db) => {
  const mailer = await start(t, db)
  await mailer.centre.save([set(host, 'a.example'), set(password, 'x')], by)
  await saveAsFirst(mailer, db, password, 'secret-a')
  await mailer.centre.refresh()
  await mailer.centre.resealSecrets()
  await updateRows(storeOf(mailer), ConfigRow, { configKey: password }, { destination: null })
  t.equal((await restart(t, db, mailer)).read(password), '')
})

onEachDatabase(t, 'nobody can move a secret to another destination in the database', async (t, db) => {
  for (const { what, alter } of alterations) {
    await t.test(what, async (t) => {
      const mailer = await start(t, db)
      await mailer.centre.save([set(host, 'evil.example'), set(password, 'secret-of-the-attacker')], by)
      await mailer.centre.save([set(host, 'a.example'), set(password, 'secret-a'), set(token, 'token-a')], by)
      await alter(mailer)
      await updateRows(storeOf(mailer), ConfigRow, { configKey: host }, { configValue: '"evil.example"' })
      await mailer.centre.rotateSecrets()
      const next = await restart(t, db, mailer)
      t.equal(next.read(password), '')
      assertMembers(t, await next.centre.list('@problem'), [{ key: password, problem: /Set (it|the secret) again/ }])
    })
  }
})

onEachDatabase(t, 'reseal writes secrets with a combined destination in a form of all versions', async (t, db) => {
  const mailer = await start(t, db)
  const { centre } = mailer
  await centre.save([set(host, 'a.example'), set(password, 'secret-a')], by)
  await centre.save([set(host, 'b.example'), set(password, 'secret-b')], by)
  const store = storeOf(mailer)
  const a = sealCombined(keyFileOf(db), password, 'secret-a', { [host]: 'a.example' })
  const b = sealCombined(keyFileOf(db), password, 'secret-b', { [host]: 'b.example' })
  await replaceForm(mailer, password, b)
  await updateRows(store, ConfigRow, { configKey: password }, { destination: null })
  const [first, second] = [1, 2].map((version) => ({ configKey: password, version }))
  const none = { oldDestination: null, newDestination: null }
  await updateRows(store, HistoryRow, first ?? {}, { ...none, newValue: a.text })
  await updateRows(store, HistoryRow, second ?? {}, { ...none, oldValue: a.text, newValue: b.text })

  const next = await restart(t, db, mailer)
  t.equal(next.read(password), 'secret-b', 'this version reads the combined form')
  t.equal((await rowOf(next, password)).configValue, b.text, 'and does not rewrite it')
  t.same((await readAllAsFirst(next, db)).values[1], [password, 'unreadable'])
  t.same(await next.centre.resealSecrets(), { reencrypted: 4, unreadable: [] })
  t.same(await readAllAsFirst(next, db), {
    values: [
      [host, 'b.example'],
      [password, 'secret-b'],
    ],
    history: [
      [1, host, null, 'a.example'],
      [1, password, null, 'secret-a'],
      [2, host, 'a.example', 'b.example'],
      [2, password, 'secret-a', 'secret-b'],
    ],
  })
  const other = await restart(t, db, next, { set: { [host]: 'c.example' } })
  t.equal(other.read(password), '', 'the secret still belongs to its destination')
  const last = await restart(t, db, other)
  t.equal(last.read(password), 'secret-b')
  const alone = await last.centre.rollback(1, { ...by, keys: [password] })
  t.same(outcomes(alone), [[password, 'rejected']], 'and so does the secret in the history')
  await last.centre.rollback(1, by)
  t.same([last.read(host), last.read(password)], ['a.example', 'secret-a'])
})

onEachDatabase(
  t,
  'a secret of an earlier version in the history is restored if its key has no destination',
  async (t, db) => {
    const mailer = await start(t, db)
    const { centre, read } = mailer
    await centre.save([set(host, 'a.example'), set(password, 'secret-a'), set(hook, 'https://a.example/x')], by)
    await saveAsFirst(mailer, db, password, 'secret-b')
    await saveAsFirst(mailer, db, hook, 'https://b.example/x')
    await saveAsFirst(mailer, db, password, 'secret-c')
    await centre.refresh()
    t.same([read(password), read(hook)], ['secret-c', 'https://b.example/x'])
    const restored = await centre.rollback(1, by)
    t.same(outcomes(restored), [
      [hook, 'applied'],
      [password, 'rejected'],
    ])
    t.same([read(password), read(hook)], ['secret-c', 'https://a.example/x'])
  },
)

onEachDatabase(t, 'a command reads the stored values before the column of destinations exists', async (t, db) => {
  const mailer = await start(t, db)
  await mailer.centre.save([set(host, 'a.example'), set(password, 'secret-a')], by)
  await replaceForm(mailer, password, sealAsFirst(keyFileOf(db), password, 'secret-a'))
  await storeOf(mailer).execute('alter table sys_config drop column destination')
  const command = await restart(t, db, mailer, { roles: ['cli'] })
  t.same([command.read(host), command.read(password)], ['a.example', 'secret-a'])
})
