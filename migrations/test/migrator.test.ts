import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { NodeSqliteDialect } from '@mikro-orm/sql'
import { assertMembers, rejectsWith, throwsWith } from '@plinth/dev/testing'
import {
  type ChangeSet,
  type ChangeSetDefinition,
  compileChangeSets,
  defineChangeSet,
  type MigrationProgress,
  Migrator,
  type MigratorOptions,
} from '@plinth/migrations'
import { Kysely, sql } from 'kysely'
import t, { type Test } from 'tap'
import { normalizeCode } from '../src/compile.ts'

interface Tables {
  a: { id: number; name: string | null }
  schema_changelog: { plugin: string; change_set: string; checksum: string }
  schema_changelog_lock: {
    id: number
    holder: string | null
    host: string
    process_space: string
    pid: number
    acquired_at: number
    expires_at: number
  }
  sqlite_master: { name: string; type: string }
}

function emptyDatabase(t: Test): Kysely<Tables> {
  const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(':memory:') })
  t.teardown(() => db.destroy())
  return db
}

const createA = defineChangeSet({
  id: '0001-create-a',
  up: ({ schema, type }) => [
    schema
      .createTable('a')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('name', type.text(10)),
    schema.createIndex('a_name').on('a').column('name'),
  ],
})
const fillA = defineChangeSet({
  id: '0002-fill-a',
  data: async ({ db, newId, now }) => {
    await db
      .insertInto('a')
      .values({ id: newId(), name: new Date(now()).toISOString().slice(0, 4) })
      .execute()
  },
})

function migratorOn(db: Kysely<Tables>, changeSets: readonly ChangeSet[], more: Partial<MigratorOptions> = {}) {
  let id = 0
  const plugins = [{ plugin: 'p', changeSets }]
  const clock = { now: () => Date.UTC(2026, 0, 1), monotonic: () => 0, sleep: async () => undefined }
  return new Migrator({ db, dialect: 'sqlite', plugins, clock, newId: () => ++id, ...more })
}

const tables = async (db: Kysely<Tables>) =>
  (await db.selectFrom('sqlite_master').select('name').where('type', '=', 'table').orderBy('name').execute()).map(
    (r) => r.name,
  )

t.test('K-019 pending change sets are applied once, with progress', async (t) => {
  const db = emptyDatabase(t)
  const seen: MigrationProgress[] = []
  let prepared = 0
  const migrator = migratorOn(db, [fillA, createA], { beforeData: async () => void prepared++ })
  t.same(await migrator.migrate({ onProgress: (progress) => seen.push(progress) }), {
    pendingBefore: 2,
    upToDate: false,
    applied: [
      { plugin: 'p', id: '0001-create-a', durationMs: 0 },
      { plugin: 'p', id: '0002-fill-a', durationMs: 0 },
    ],
  })
  t.same(
    seen.map((progress) =>
      progress.kind === 'step'
        ? `${progress.index}/${progress.total} ${progress.step}/${progress.steps}`
        : progress.kind,
    ),
    ['1/2 1/2', '1/2 2/2', 'applied', '2/2 1/1', 'applied'],
  )
  t.equal(prepared, 1)
  t.same(await db.selectFrom('a').selectAll().execute(), [{ id: 1, name: '2026' }])
  t.same(await migrator.migrate(), { pendingBefore: 0, applied: [], upToDate: true })
  const status = await migrator.status()
  assertMembers(t, status, { tableExists: true, pending: [], changed: [], orphaned: [], lock: undefined })
  t.same(
    status.applied.map(({ id, executedAt }) => [id, executedAt]),
    [
      ['0001-create-a', Date.UTC(2026, 0, 1)],
      ['0002-fill-a', Date.UTC(2026, 0, 1)],
    ],
  )
})

t.test('the status shows which process migrates, and until when its lock is valid', async (t) => {
  const db = emptyDatabase(t)
  const migrator = migratorOn(db, [createA])
  await migrator.migrate()
  const held = { holder: 'other', host: 'node-1', pid: 7, acquired_at: 1_000, expires_at: 31_000 }
  await db.updateTable('schema_changelog_lock').set(held).execute()
  t.same((await migrator.status()).lock, { host: 'node-1', pid: 7, acquiredAt: 1_000, expiresAt: 31_000 })
})

t.test('status and plan only read, and show the SQL', async (t) => {
  const db = emptyDatabase(t)
  const migrator = migratorOn(db, [createA, fillA])
  assertMembers(t, await migrator.status(), { tableExists: false, applied: [], pending: { length: 2 } })
  t.same(await migrator.plan(), [
    {
      plugin: 'p',
      id: '0001-create-a',
      statements: [
        'create table "a" ("id" integer not null primary key, "name" text)',
        'create index "a_name" on "a" ("name")',
      ],
      changesData: false,
      stepsDone: 0,
    },
    { plugin: 'p', id: '0002-fill-a', statements: [], changesData: true, stepsDone: 0, data: String(fillA.data) },
  ])
  t.same(await tables(db), [], 'nothing was created')
})

t.test('a change set that changes a table of another plugin is rejected, with the owner of the table', async (t) => {
  const db = emptyDatabase(t)
  const changes: Readonly<Record<string, ChangeSetDefinition['up']>> = {
    column: ({ schema, type }) => [schema.alterTable('a').addColumn('note', type.text(10))],
    index: ({ schema }) => [schema.createIndex('a_other').on('a').column('id')],
    text: ({ sql }) => [sql`alter table a add column note text`],
    table: ({ schema, type }) => [schema.createTable('a').addColumn('id', type.id)],
  }
  for (const [name, up] of Object.entries(changes)) {
    const other = defineChangeSet({ id: '0001-change-a', ...(up && { up }) })
    const plugins = [
      { plugin: 'p', changeSets: [createA] },
      { plugin: 'other', changeSets: [other] },
    ]
    throwsWith(
      t,
      () => new Migrator({ db, dialect: 'sqlite', plugins }),
      {
        code: 'PLINTH_MIGRATION_TABLE_OF_OTHER',
        message: 'Change set other/0001-change-a changes the table a, which belongs to plugin "p".',
      },
      name,
    )
  }
})

t.test('in development, only what a change set has created or renamed has a way back', async (t) => {
  const ways: Readonly<Record<string, readonly [Omit<ChangeSetDefinition, 'id'>, string[] | string]>> = {
    renamed: [
      { breaking: 'not released', up: ({ schema }) => [schema.alterTable('a').renameColumn('name', 'label')] },
      ['alter table "a" rename column "label" to "name"'],
    ],
    columns: [
      {
        up: ({ schema, type }) => [
          schema.alterTable('a').addColumn('x', type.id),
          schema.createIndex('a_x').on('a').column('x'),
        ],
      },
      ['drop index "a_x"', 'alter table "a" drop column "x"'],
    ],
    text: [{ up: ({ sql }) => [sql`create table b (id integer)`] }, ['drop table if exists "b"']],
    dropped: [
      { breaking: 'unused', up: ({ schema }) => [schema.dropTable('a')] },
      'no statement undoes "drop table "a""',
    ],
    rows: [{ data: async () => {} }, 'it only changes rows'],
  }
  for (const [name, [definition, expected]] of Object.entries(ways)) {
    const development = { project: '/shop', isRecorded: true }
    const changeSet = defineChangeSet({ id: '0002-change', ...definition })
    const migrator = migratorOn(emptyDatabase(t), [createA, changeSet], { development })
    await migrator.migrate()
    if (typeof expected !== 'string') {
      t.same((await migrator.wayBack('p', '0002-change')).statements, expected, name)
      continue
    }
    const message = `Change set p/0002-change cannot be taken back: ${expected}. Nothing was changed.`
    await rejectsWith(t, migrator.wayBack('p', '0002-change'), { code: 'PLINTH_MIGRATION_NO_WAY_BACK', message })
  }
})

t.test('change sets of another project have no way back', async (t) => {
  const db = emptyDatabase(t)
  await migratorOn(db, [createA], { development: { project: '/shop', isRecorded: true } }).migrate()
  const other = migratorOn(db, [createA], { development: { project: '/other', isRecorded: true } })
  await rejectsWith(t, other.takeBack('p', '0001-create-a'), { code: 'PLINTH_MIGRATION_NO_WAY_BACK' })
})

t.test('a table that something else created prevents all changes', async (t) => {
  const db = emptyDatabase(t)
  await db.schema.createTable('a').addColumn('id', 'integer').execute()
  const createB = defineChangeSet({
    id: '0000-create-b',
    up: ({ schema, type }) => [schema.createTable('b').addColumn('id', type.id)],
  })
  const migrator = migratorOn(db, [createB, createA])
  assertMembers(t, await migrator.status(), { foreignTables: ['a'], pending: { length: 2 } })
  for (const attempt of [() => migrator.plan(), () => migrator.migrate()]) {
    await rejectsWith(t, async () => attempt(), {
      code: 'PLINTH_MIGRATION_FOREIGN_TABLES',
      message: /create: a\. Nothing was changed/,
    })
  }
  t.same(await tables(db), ['a'], 'not even the tables of the migrator')

  await db.schema.dropTable('a').execute()
  t.match(await migrator.migrate(), { applied: { length: 2 } })
  const again = defineChangeSet({
    id: '0003-recreate-a',
    breaking: 'nothing reads it',
    up: ({ schema, type }) => [schema.dropTable('a'), schema.createTable('a').addColumn('id', type.id)],
  })
  assertMembers(
    t,
    await migratorOn(db, [createB, createA, again]).migrate(),
    { applied: [{ id: '0003-recreate-a' }] },
    'its own',
  )
})

t.test('a changed change set that was already applied is rejected, and nothing else runs', async (t) => {
  const db = emptyDatabase(t)
  await migratorOn(db, [createA]).migrate()
  const changed = defineChangeSet({
    ...createA,
    up: ({ schema, type }) => [schema.createTable('a').addColumn('other', type.id)],
  })
  const migrator = migratorOn(db, [changed, fillA])
  const rejection = {
    code: 'PLINTH_MIGRATION_CHECKSUM',
    message: /p\/0001-create-a was applied on 2026-01-01T00:00:00.000Z/,
  }
  await rejectsWith(t, migrator.migrate(), rejection)
  await rejectsWith(t, migrator.plan(), rejection)
  assertMembers(t, await migrator.status(), { changed: [{ id: '0001-create-a' }], pending: [{ id: '0002-fill-a' }] })
  t.same(await db.selectFrom('a').selectAll().execute(), [])
})

t.test('shorter or longer texts, and other work on data, are also detected on SQLite', async (t) => {
  const db = emptyDatabase(t)
  const textOf = (length: number) =>
    defineChangeSet({
      id: '0001-create-a',
      up: ({ schema, type }) => [schema.createTable('a').addColumn('name', type.text(length))],
    })
  const fill = (data: NonNullable<ChangeSetDefinition['data']>) => defineChangeSet({ id: '0002-fill-a', data })
  const once = fill(async ({ db: rows }) => void (await rows.insertInto('a').values({ name: 'one' }).execute()))
  await migratorOn(db, [textOf(10), once]).migrate()
  const columns = await sql<{ type: string }>`select type from pragma_table_info('a')`.execute(db)
  assertMembers(t, columns.rows, [{ type: /^text$/i }], 'the column is what it always was')
  await rejectsWith(t, migratorOn(db, [textOf(20), once]).migrate(), { code: 'PLINTH_MIGRATION_CHECKSUM' })

  const warnings: string[] = []
  const other = fill(async ({ db: rows }) => void (await rows.insertInto('a').values({ name: 'two' }).execute()))
  const edited = migratorOn(db, [textOf(10), other], { warn: (message) => warnings.push(message) })
  assertMembers(t, await edited.status(), { changed: [], dataChanged: [{ plugin: 'p', id: '0002-fill-a' }] })
  t.match(await edited.migrate(), { upToDate: true })
  t.strictSame(warnings, [], 'an operator cannot correct it')
  // This is the same change set in the form in which a compiler could write it.
  const built = fill(async ({ db: rows }) => void (await rows.insertInto('a').values({ name: 'one' }).execute()))
  await migratorOn(db, [textOf(10), built], { warn: (message) => warnings.push(message) }).migrate()
  t.same(warnings, [])
})

t.test('a downgrade causes a warning with the unknown change sets and a fix', async (t) => {
  const db = emptyDatabase(t)
  await migratorOn(db, [createA, fillA]).migrate()
  const warnings: string[] = []
  const older = migratorOn(db, [createA], { warn: (message) => warnings.push(message) })
  assertMembers(t, await older.status(), { unknown: [{ plugin: 'p', id: '0002-fill-a' }], orphaned: [], pending: [] })
  t.match(await older.migrate(), { upToDate: true }, 'an older process goes on while an upgrade is under way')
  assertMembers(t, warnings, [/another version.*p\/0002-fill-a.*restore a backup/])
})

t.test('C-040 records of the first checksum are still compared', async (t) => {
  const db = emptyDatabase(t)
  await migratorOn(db, [createA]).migrate()
  const [compiled] = compileChangeSets([{ plugin: 'p', changeSets: [createA] }], 'sqlite')
  // An earlier version of this package computed this checksum.
  const checksum = '1:c30cc320fae0f2240473f33e339eaffa98651b3c2f8db213d2c589d1b5e62da4'
  t.equal(compiled?.formerChecksum, checksum)
  await db.updateTable('schema_changelog').set({ checksum }).execute()
  t.match(await migratorOn(db, [createA]).migrate(), { upToDate: true })
  const edited = defineChangeSet({
    id: '0001-create-a',
    up: ({ schema, type }) => [schema.createTable('b').addColumn('id', type.id)],
  })
  await rejectsWith(t, migratorOn(db, [edited]).migrate(), { code: 'PLINTH_MIGRATION_CHECKSUM' })
})

t.test('the build keeps the checksums of the data steps of all plugins', async (t) => {
  t.testdir()
  const root = join(import.meta.dirname, '..', '..')
  const files = globSync('plugins/*/src/migrations/*.ts', { cwd: root })
    .map((file) => join(root, file))
    .filter((file) => /\bdata: async/.test(readFileSync(file, 'utf8')))
  t.ok(files.length > 3)
  const work = (code: string) => normalizeCode(code.slice(code.indexOf('data: async')))
  for (const [index, file] of files.entries()) {
    const options = [
      '--noCheck',
      '--noResolve',
      '--ignoreConfig',
      '--target',
      'esnext',
      '--module',
      'nodenext',
      '--types',
      '',
    ]
    const out = join(t.testdirName, String(index))
    // The compiler runs without NODE_OPTIONS. Otherwise tap would load itself into the process, and the compiler could
    // not start.
    const compiler = ['-u', 'NODE_OPTIONS', join(root, 'node_modules', '.bin', 'tsc')]
    execFileSync('env', [...compiler, ...options, '--outDir', out, file], { timeout: 300_000 })
    const [built = ''] = globSync('*.js', { cwd: out })
    t.equal(
      work(readFileSync(join(out, built), 'utf8')),
      work(stripTypeScriptTypes(readFileSync(file, 'utf8'))),
      file.slice(root.length),
    )
  }
})

t.test('records with an older checksum and records of removed plugins cause no error', async (t) => {
  const db = emptyDatabase(t)
  await migratorOn(db, [createA]).migrate()
  await db.updateTable('schema_changelog').set({ checksum: '0:whatever' }).execute()
  t.match(await migratorOn(db, [createA]).migrate(), { upToDate: true })
  const other = new Migrator({ db, dialect: 'sqlite', plugins: [{ plugin: 'q', changeSets: [] }] })
  assertMembers(t, await other.status(), { orphaned: [{ plugin: 'p', id: '0001-create-a' }], pending: [] })
  t.match(await other.migrate(), { upToDate: true })
})

t.test('a failing step leaves nothing of its change set and is reported with its name', async (t) => {
  const db = emptyDatabase(t)
  const failing = (definition: Partial<ChangeSetDefinition>) => defineChangeSet({ id: '0002-b', ...definition })
  const broken = failing({
    up: ({ schema, type, sql }) => [
      schema.createTable('b').addColumn('id', type.id),
      sql`create index b_x on missing (x)`,
    ],
  })
  await rejectsWith(t, migratorOn(db, [createA, broken]).migrate(), {
    code: 'PLINTH_MIGRATION_FAILED',
    message: /p\/0002-b failed at step 2: no such table: main.missing/,
    fix: /runs again from its first step, because nothing of it was kept/,
  })
  const brokenData = failing({
    up: ({ schema, type }) => [schema.createTable('b').addColumn('id', type.id)],
    data: async () => Promise.reject(new Error('no rows today')),
  })
  await rejectsWith(t, migratorOn(db, [createA, brokenData]).migrate(), { message: /its data step: no rows today/ })
  t.notOk((await tables(db)).includes('b'))
  t.match(await migratorOn(db, [createA, brokenData]).status(), {
    applied: { length: 1 },
    pending: { length: 1 },
    lock: undefined,
  })
})

t.test('a migration stops between steps when it is aborted, and continues later', async (t) => {
  const db = emptyDatabase(t)
  const stop = new AbortController()
  const onProgress = (progress: MigrationProgress) => {
    if (progress.kind === 'applied') stop.abort(new Error('shutting down'))
  }
  const migrator = migratorOn(db, [createA, fillA])
  await rejectsWith(t, migrator.migrate({ signal: stop.signal, onProgress }), {
    code: 'PLINTH_MIGRATION_ABORTED',
    message: /before step 1 of change set p\/0002-fill-a/,
  })
  assertMembers(t, await migrator.migrate(), { applied: [{ id: '0002-fill-a' }] })
  await rejectsWith(t, migratorOn(emptyDatabase(t), [createA]).migrate({ signal: AbortSignal.abort() }), {
    code: 'PLINTH_MIGRATION_ABORTED',
    message: /before it began/,
  })
})

t.test('the lock', async (t) => {
  const lock = { pollMs: 5, waitMs: 30, leaseMs: 60_000 }
  const alive = { id: 1, holder: 'other', host: 'elsewhere', process_space: 'of another host', pid: 1 }

  async function lockedBy(t: Test, row: Partial<Tables['schema_changelog_lock']>) {
    const db = emptyDatabase(t)
    await migratorOn(db, [createA]).migrate()
    await db
      .updateTable('schema_changelog_lock')
      .set({ ...alive, ...row })
      .execute()
    return { db, migrator: migratorOn(db, [createA, fillA], { lock }) }
  }
  const inAMinute = sql<number>`cast(unixepoch('subsec') * 1000 as integer) + 60000`

  t.test('another process waits for the lock, reports it, and finally gives up', async (t) => {
    const { db, migrator } = await lockedBy(t, { expires_at: inAMinute as never })
    const seen: MigrationProgress[] = []
    await rejectsWith(t, migrator.migrate({ onProgress: (progress) => seen.push(progress) }), {
      code: 'PLINTH_MIGRATION_LOCKED',
      message: /process 1 on elsewhere/,
    })
    assertMembers(t, seen, [{ kind: 'waiting', holder: { host: 'elsewhere', pid: 1 } }])
    t.match(await migrator.status(), { lock: { host: 'elsewhere', pid: 1 }, pending: { length: 1 } })
    t.same(await db.selectFrom('a').selectAll().execute(), [])
  })

  t.test('a migration that waits for the lock ends as soon as it is aborted', async (t) => {
    const { db } = await lockedBy(t, { expires_at: inAMinute as never })
    const stop = new AbortController()
    const onProgress = ({ kind }: MigrationProgress) => {
      if (kind === 'waiting') stop.abort(new Error('shutting down'))
    }
    const migrator = migratorOn(db, [createA, fillA], { lock: { ...lock, waitMs: 5_000 } })
    await rejectsWith(t, migrator.migrate({ signal: stop.signal, onProgress }), { code: 'PLINTH_MIGRATION_ABORTED' })
    t.match(await migrator.status(), { lock: { host: 'elsewhere', pid: 1 } }, 'the lock stays with its owner')
  })

  t.test('a lock is taken over after its lease has expired', async (t) => {
    const { migrator } = await lockedBy(t, { expires_at: 1 })
    assertMembers(t, await migrator.migrate(), { applied: [{ id: '0002-fill-a' }] })
  })

  t.test(
    'the lock of a dead process of this host is taken over immediately, but not that of a live process',
    async (t) => {
      const own = emptyDatabase(t)
      const spaceOf = async (): Promise<string> => {
        let space = ''
        const look = defineChangeSet({
          id: '0001-look',
          data: async ({ db }) => {
            space = (await db.selectFrom('schema_changelog_lock').select('process_space').executeTakeFirst())
              ?.process_space
          },
        })
        await migratorOn(own, [look]).migrate()
        return space
      }
      const process_space = await spaceOf()
      const expires_at = inAMinute as never
      const dead = await lockedBy(t, { process_space, pid: 2 ** 22 + 1, expires_at })
      assertMembers(t, await dead.migrator.migrate(), { applied: [{ id: '0002-fill-a' }] })
      const living = await lockedBy(t, { process_space, pid: process.pid, expires_at })
      await rejectsWith(t, living.migrator.migrate(), { code: 'PLINTH_MIGRATION_LOCKED' })
    },
  )

  t.test('if the lock is lost to another process, the running change set is not committed', async (t) => {
    const { db } = await lockedBy(t, { expires_at: 1 })
    const robbed = defineChangeSet({
      id: '0002-robbed',
      data: async ({ db }) => {
        await db.insertInto('a').values({ id: 5, name: 'x' }).execute()
        await db.updateTable('schema_changelog_lock').set({ holder: 'thief' }).execute()
      },
    })
    await rejectsWith(t, migratorOn(db, [createA, robbed], { lock }).migrate(), { code: 'PLINTH_MIGRATION_LOCK_LOST' })
    t.same(await db.selectFrom('a').selectAll().execute(), [])
  })
})
