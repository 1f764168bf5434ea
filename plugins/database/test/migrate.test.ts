import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { type Database, database } from '@plinth/database'
import { assertMembers, rejectsWith, startForTest, throwsWith, waitForProcessEnd } from '@plinth/dev/testing'
import { type CommandInvocation, definePlugin, type PlinthError, type Plugin } from '@plinth/kernel'
import {
  type ChangeSet,
  defineChangeSet,
  type MigrationResult,
  type MigrationStatus,
  Migrator,
} from '@plinth/migrations'
import type { Kysely } from 'kysely'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { DatabaseService } from '../src/database-service.ts'
import { openOrm } from '../src/open-orm.ts'
import { fullMigrator, onEveryResult } from './fixtures/crash.ts'
import { createDatabase, onEachDatabase, productOn, startOn, type TestDatabase } from './fixtures/databases.ts'
import samplePlugin, { sampleChangeSets } from './fixtures/sample-plugin.ts'

const childFile = fileURLToPath(new URL('fixtures/migrating-process.ts', import.meta.url))

interface Outcome {
  readonly signal: NodeJS.Signals | null
  readonly result?: MigrationResult
}

async function migrateInProcess(db: TestDatabase, killAfter: number | null): Promise<Outcome> {
  const argument = JSON.stringify({ settings: db.settings, killAfter })
  const { code, signal, stdout, stderr } = await waitForProcessEnd(spawn(process.execPath, [childFile, argument]))
  if (signal !== null) return { signal }
  if (code !== 0) throw new Error(stderr)
  return { signal, result: JSON.parse(stdout) as MigrationResult }
}

/** Checks that each change set is applied exactly once, and that an interrupted run left no other traces. */
async function assertMigrated(t: Test, db: TestDatabase): Promise<void> {
  const { service } = await startOn(t, db, samplePlugin)
  const status = await service.migrationStatus()
  const expected = db.dialect === 'postgresql' ? 6 : 5
  t.equal(status.applied.length, expected)
  assertMembers(t, status, { pending: [], changed: [], lock: undefined })
  t.same(await service.query('select name from sample_counter order by value'), [{ name: 'first' }, { name: 'second' }])
  t.same(await service.query('select step from schema_changelog_step'), [])
  const generator = service.fork().config.getExtension('@mikro-orm/schema-generator') as {
    getUpdateSchemaSQL(options: object): Promise<string>
  }
  t.equal((await generator.getUpdateSchemaSQL({ dropTables: false, safe: false, wrap: false })).trim(), '')
}

t.test('the first start logs its change sets in one line; each of them only at the level debug', async (t) => {
  for (const level of ['info', 'debug']) {
    const messages: string[] = []
    const logger = pino({ level }, { write: (line) => void messages.push(JSON.parse(line).msg) })
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const running = await startForTest(productOn(db, samplePlugin), { logger })
    await running.stop('test ended')
    t.equal(messages.filter((message) => message === 'database migrated').length, 1, level)
    t.equal(
      messages.some((message) => /applied in/.test(message)),
      level === 'debug',
      level,
    )
  }
})

onEachDatabase(t, 'after kill -9 during a migration the next process completes it', async (t, db) => {
  let kills = 0
  for (const killAfter of [13, 8]) {
    const { signal } = await migrateInProcess(db, killAfter)
    if (signal === 'SIGKILL') kills++
  }
  t.equal(kills, 2, 'two processes died at their work')
  const { result } = await migrateInProcess(db, null)
  t.ok((result?.applied.length ?? 0) > 0, 'the third takes the lock over at once and does the rest')
  await assertMigrated(t, db)
})

onEachDatabase(t, 'whatever statement was the last one, the next run completes the migration', async (t, db) => {
  const crash = new Error('the process died')
  const runUntil = async (last: number): Promise<boolean> => {
    const { orm, connect } = await openOrm(db.settings, {
      entities: [],
      warn: () => {},
      failures: { failed() {}, succeeded() {} },
    })
    await connect()
    let results = 0
    const real = orm.driver.getConnection().getClient()
    const dying = onEveryResult(real, () => {
      if (++results >= last) throw crash
    })
    try {
      await fullMigrator(dying, db.dialect, randomUUID()).migrate()
      return true
    } catch {
      return false
    } finally {
      // A dead process does not release its lock. Here the lease of this lock expires.
      await real
        .updateTable('schema_changelog_lock' as never)
        .set({ expires_at: 1 } as never)
        .execute()
        .catch(() => undefined)
      await orm.close(true)
    }
  }
  let last = 1
  let finished = await runUntil(last)
  while (!finished && last < 200) finished = await runUntil(++last)
  t.ok(finished, `finished after dying at each of ${last - 1} places in turn`)
  await assertMigrated(t, db)
})

onEachDatabase(t, 'a step costs at most one additional statement', async (t, db) => {
  const { orm, connect } = await openOrm(db.settings, {
    entities: [],
    warn: () => {},
    failures: { failed() {}, succeeded() {} },
  })
  await connect()
  t.teardown(() => orm.close(true))
  let statements = 0
  const counted = onEveryResult(orm.driver.getConnection().getClient(), () => {
    statements += 1
  })
  const changeSets: ChangeSet[] = []
  /** Applies a change set with this number of steps and returns how many statements this took. */
  const costOf = async (id: string, steps: number) => {
    const up: ChangeSet['up'] = ({ schema, type }) =>
      Array.from({ length: steps }, (_, n) => schema.createTable(`t${id}_${n}`).addColumn('id', type.id))
    changeSets.push(defineChangeSet({ id: `${id}-tables`, up }))
    const plugins = [{ plugin: 'p', changeSets }]
    statements = 0
    await new Migrator({ db: counted, dialect: db.dialect, plugins }).migrate()
    return statements
  }
  await costOf('0001', 1)
  const [few, many] = [await costOf('0002', 1), await costOf('0003', 11)]
  t.equal(many - few, db.dialect === 'mariadb' ? 20 : 10)
})

onEachDatabase(t, 'a change set that was edited while half applied is rejected', async (t, db) => {
  const { orm, connect } = await openOrm(db.settings, {
    entities: [],
    warn: () => {},
    failures: { failed() {}, succeeded() {} },
  })
  await connect()
  t.teardown(() => orm.close(true))
  const connection = orm.driver.getConnection().getClient()
  const change = (column: string, table: string) =>
    defineChangeSet({
      id: '0001-half',
      up: ({ schema, type, sql }) => [
        schema.createTable('half').addColumn(column, type.id),
        sql`create index half_x on ${sql.ref(table)} (${sql.ref(column)})`,
      ],
    })
  const migrate = (changeSet: ReturnType<typeof change>) =>
    new Migrator({
      db: connection as Kysely<unknown>,
      dialect: db.dialect,
      plugins: [{ plugin: 'p', changeSets: [changeSet] }],
      newId: () => 1,
    }).migrate()
  await rejectsWith(t, migrate(change('id', 'missing')), { code: 'PLINTH_MIGRATION_FAILED', message: /step 2/ })
  const edited = migrate(change('other', 'half'))
  // Except on MariaDB, a change set is one transaction, so a failed change set was rolled back and may be edited.
  if (db.dialect === 'mariadb') {
    await rejectsWith(t, edited, {
      code: 'PLINTH_MIGRATION_CHECKSUM',
      message: /p\/0001-half was applied on an earlier start, which did not finish it/,
    })
    assertMembers(
      t,
      await migrate(change('id', 'half')),
      { applied: [{ id: '0001-half' }] },
      'as it was, it is finished',
    )
  } else assertMembers(t, await edited, { applied: [{ id: '0001-half' }] })
})

onEachDatabase(t, 'many concurrent migrators on one empty database apply each change set once', async (t, db) => {
  const migrators = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const { orm, connect } = await openOrm(db.settings, {
        entities: [],
        warn: () => {},
        failures: { failed() {}, succeeded() {} },
      })
      await connect()
      t.teardown(() => orm.close(true))
      return fullMigrator(orm.driver.getConnection().getClient(), db.dialect, randomUUID())
    }),
  )
  const results = await Promise.all(migrators.map((migrator) => migrator.migrate()))
  t.equal(results.flatMap(({ applied }) => applied).length, db.dialect === 'postgresql' ? 6 : 5)
  await assertMigrated(t, db)
})

onEachDatabase(
  t,
  'processes that start together on an empty database: one migrates, and all complete their start',
  async (t, db) => {
    const outcomes = await Promise.all([migrateInProcess(db, null), migrateInProcess(db, null)])
    const expected = db.dialect === 'postgresql' ? 6 : 5
    t.same(outcomes.map(({ result }) => result?.applied.length).toSorted(), [0, expected])
    await assertMigrated(t, db)
  },
)

onEachDatabase(
  t,
  'K-019 migrates at start before later plugins are set up; a second start finds nothing',
  async (t, db) => {
    const seen: number[] = []
    const later = definePlugin({
      id: 'later',
      version: '1.0.0',
      kernel: '^1.0.0',
      requires: { database },
      migrations: sampleChangeSets,
      async setup(ctx) {
        seen.push((await ctx.services.database.query('select name from sample_counter')).length)
      },
    })
    const first = await startForTest(productOn(db, later))
    await first.stop('again')
    const { service } = await startOn(t, db, later)
    t.same(seen, [2, 2])
    t.match(await service.migrate(), { upToDate: true, pendingBefore: 0 })
  },
)

onEachDatabase(
  t,
  'plinth migrate: status, dry run and run, as text and JSON; a command never migrates by itself',
  async (t, db) => {
    const running = await startForTest(productOn(db, samplePlugin), { roles: ['cli'] })
    t.teardown(() => running.stop('test ended'))
    const service = running.service(database) as DatabaseService
    const expected = db.dialect === 'postgresql' ? 6 : 5

    const dry = await migrateCommand(running, { dryRun: true })
    t.match(
      dry.text,
      /^-- database\/0001-create-id-node\ncreate table .*;\n-- database\/0002-create-clock\ncreate table .*;\n-- sample\/0001-create-sample\ncreate table/,
    )
    t.match(dry.text, /-- then rows are changed by:\n--\s+async .*\n(--.*\n)*--.*insertInto\('sample_counter'\)/)
    t.match(dry.value, { dialect: db.dialect, pending: { length: expected } })
    t.match(await service.migrationStatus(), { tableExists: false }, 'the dry run changed nothing')
    throwsWith(t, () => service.newId(), { code: 'PLINTH_DATABASE_NO_IDS' })

    t.match((await migrateCommand(running, { status: true })).text, new RegExp(`\n0 applied, ${expected} pending\\.$`))
    const run = await migrateCommand(running, {})
    t.match(run.value, { applied: { length: expected }, upToDate: false })
    t.match(run.progress.at(-1), `[${expected}/${expected}] sample/`)
    t.equal((await migrateCommand(running, {})).text, 'The database is up to date.')
    t.equal((await migrateCommand(running, { dryRun: true })).text, 'The database is up to date.')
    t.match((await migrateCommand(running, { status: true })).text, `${expected} applied, 0 pending.`)
    t.ok(service.newId() > 0, 'ids are given out once it has migrated')
  },
)

onEachDatabase(
  t,
  'plinth migrate --status exits with 1 unless the database is as this version requires',
  async (t, db) => {
    const sample = (column: string, ...more: ChangeSet[]) => {
      const create = defineChangeSet({
        id: '0001-create-gate',
        up: ({ schema, type }) => [schema.createTable('gate').addColumn(column, type.id)],
      })
      return definePlugin({ id: 'gate', version: '1.0.0', kernel: '^1.0.0', migrations: [create, ...more] })
    }
    const status = async (plugin: Plugin, migrates = false) => {
      const running = await startForTest(productOn(db, plugin), { roles: ['cli'] })
      try {
        if (migrates) t.equal((await migrateCommand(running, {})).exitCode, 0)
        return await migrateCommand(running, { status: true })
      } finally {
        await running.stop('again')
      }
    }
    t.match(await status(sample('id')), { exitCode: 1, text: /Pending:\n[\s\S]*gate\/0001-create-gate/ })
    const upToDate = await status(sample('id'), true)
    t.equal(upToDate.exitCode, 0)
    t.match(
      upToDate.text,
      /^Applied:\n( {2}\d{4}-\d\d-\d\dT[\d:.]+Z {2}[a-z-]+\/\S+ {2}\d+ ms\n){3}3 applied, 0 pending\.$/,
    )
    const applied = { plugin: 'gate', id: '0001-create-gate', executedAt: Number, durationMs: Number }
    t.match((upToDate.value as MigrationStatus).applied.at(-1), applied)
    t.match(await status(sample('other')), {
      exitCode: 1,
      text: /Changed since they were applied[^\n]*\n {2}gate\/0001/,
    })
    const addTable = defineChangeSet({
      id: '0002-create-foreign',
      up: ({ schema, type }) => [schema.createTable('foreign_gate').addColumn('id', type.id)],
    })
    const running = await startForTest(productOn(db), { roles: ['cli'] })
    await running.service(database).execute('create table foreign_gate (id integer)')
    await running.stop('again')
    t.match(await status(sample('id', addTable)), { exitCode: 1, text: /another product[^\n]*\n {2}foreign_gate/ })
  },
)

onEachDatabase(
  t,
  'plinth migrate --status lists change sets of other versions and of removed plugins, and the process that migrates',
  async (t, db) => {
    const create = defineChangeSet({
      id: '0001-create-gate',
      up: ({ schema, type }) => [schema.createTable('gate').addColumn('id', type.id)],
    })
    const fill = (data: ChangeSet['data']) => defineChangeSet({ id: '0002-fill-gate', ...(data && { data }) })
    const drop = defineChangeSet({
      id: '0003-drop-gate',
      breaking: 'No version has used the table.',
      up: ({ schema }) => [schema.dropTable('gate')],
    })
    const gate = (...migrations: ChangeSet[]) =>
      definePlugin({ id: 'gate', version: '1.0.0', kernel: '^1.0.0', migrations })
    const command = async (options: CommandInvocation['options'], ...plugins: Plugin[]) => {
      const running = await startForTest(productOn(db, ...plugins), { roles: ['cli'] })
      try {
        return await migrateCommand(running, options)
      } finally {
        await running.stop('again')
      }
    }
    const status = { status: true }
    const [begun, permit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = fill(async () => {
      begun.resolve()
      await permit.promise
    })
    const migration = command({}, gate(create, slow))
    await begun.promise
    const during = await command(status, gate(create)).finally(() => permit.resolve())
    t.match(during.text, new RegExp(`^Process ${process.pid} on .+ is migrating\\.$`, 'm'))
    t.equal((await migration).exitCode, 0)

    const ends = async (text: RegExp, ...plugins: Plugin[]) =>
      t.match(await command(status, ...plugins), { exitCode: 0, text }, text.source)
    await ends(
      /^Changes of rows [^\n]*:\n {2}gate\/0002-fill-gate\n\d/m,
      gate(
        create,
        fill(async () => {}),
      ),
    )
    await ends(/^Applied by another version[^\n]*:\n {2}gate\/0002-fill-gate\n\d/m, gate(create))
    await ends(/^Applied, of plugins that are not loaded:\n {2}gate\/0001-create-gate\n {2}gate\/0002-fill-gate\n\d/m)
    const dry = await command({ dryRun: true }, gate(create, slow, drop))
    t.match(dry.text, /^-- gate\/0003-drop-gate\n-- breaking: No version has used the table\.\ndrop table/)
  },
)

onEachDatabase(
  t,
  'a failed change set reports how the next run continues and the error of the database',
  async (t, db) => {
    const twice = defineChangeSet({
      id: '0001-twice',
      up: ({ schema, type }) => [
        schema.createTable('twice').addColumn('id', type.id),
        schema.createIndex('twice_unique').unique().on('twice').column('id'),
      ],
      data: async ({ db }) => {
        await db
          .insertInto('twice')
          .values([{ id: 7 }, { id: 7 }])
          .execute()
      },
    })
    const plugin = definePlugin({ id: 'twice', version: '1.0.0', kernel: '^1.0.0', migrations: [twice] })
    const running = await startForTest(productOn(db, plugin), { roles: ['cli'] })
    t.teardown(() => running.stop('test ended'))
    const failed: unknown = await running
      .service(database)
      .migrate()
      .catch((error: unknown) => error)
    t.match(failed, {
      code: /^PLINTH_MIGRATION_FAILED$/,
      fix: db.dialect === 'mariadb' ? /it continues with this step/ : /this change set runs again from its first step/,
    })
    const { message, fix } = failed as PlinthError
    t.equal(fix.includes('The database adds: Key (id)=(7) already exists.'), db.dialect === 'postgresql')
    t.notMatch(message, /Key \(id\)|insert into/i, 'neither rows nor statements, because callers see the message')
  },
)

async function migrateCommand(
  running: Awaited<ReturnType<typeof startForTest>>,
  options: CommandInvocation['options'],
): Promise<{ value: unknown; text: string; progress: string[]; exitCode: unknown }> {
  const response = { value: undefined as unknown, text: '', progress: [] as string[], exitCode: undefined as unknown }
  const output = {
    json: false,
    result: (value: unknown, text: string) => Object.assign(response, { value, text }),
    table: () => {},
    progress: (text: string) => response.progress.push(text),
  }
  const plugin = running.plugins.find(({ id }) => id === 'database')
  const runtime = running.runtimeOf('database')
  response.exitCode = await plugin?.commands?.[0]?.run(runtime as never, {
    args: [],
    options,
    output,
    examine: async () => [],
    signal: new AbortController().signal,
  })
  return response
}

t.test('with migrate-at-start off the product changes nothing; the installer can still migrate', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const set = { 'platform.database.migrate-at-start': 'false' }
  const running = await startForTest(productOn(db, samplePlugin), { set })
  const service: Database = running.service(database)
  t.match(await service.migrationStatus(), { tableExists: false, pending: { length: 5 } })
  throwsWith(t, () => service.newId(), { code: 'PLINTH_DATABASE_NO_IDS' })
  t.match(await service.migrate(), { applied: { length: 5 } })
  t.ok(service.newId() > 0)
  await running.stop('again')

  const again = await startForTest(productOn(db, samplePlugin), { set })
  t.teardown(() => again.stop('test ended'))
  t.ok(again.service(database).newId() > 0)
})
