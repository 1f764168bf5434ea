import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { type CommandFinding, type CommandInvocation, systemClock } from '@plinth/kernel'
import { causeCodeOf } from '@plinth/kernel/host'
import { defineChangeSet, Migrator, type PluginChangeSets } from '@plinth/migrations'
import fc from 'fast-check'
import { CompiledQuery } from 'kysely'
import t, { type Test } from 'tap'
import type { ConnectionSettings } from '../src/connections/connection-failure.ts'
import { changeSets as ownChangeSets } from '../src/migrations/index.ts'
import { canonicalJson } from '../src/move/canonical-json.ts'
import { cancelMove, type MoveOptions, moveDatabase } from '../src/move/move.ts'
import { runMoveCommand } from '../src/move/move-command.ts'
import { createMoveTables } from '../src/move/move-state.ts'
import { withDatabase } from '../src/move/open-database.ts'
import type { SourceProblem } from '../src/move/source-check.ts'
import { tableNamesOf } from '../src/move/stored-tables.ts'
import { createDatabase, dialectSkip, onEachDatabase, startOn, type TestDatabase } from './fixtures/databases.ts'
import samplePlugin, { sampleChangeSets } from './fixtures/sample-plugin.ts'

const changeSets: readonly PluginChangeSets[] = [
  { plugin: 'database', changeSets: ownChangeSets },
  { plugin: 'sample', changeSets: sampleChangeSets },
]

const move = (source: ConnectionSettings, target: ConnectionSettings, more: Partial<MoveOptions> = {}) =>
  moveDatabase({
    source,
    target,
    changeSets,
    processTables: new Set(['database_clock']),
    clock: systemClock,
    signal: new AbortController().signal,
    onProgress: () => {},
    examine: async () => [],
    isRehearsal: false,
    ...more,
  })

const run = (settings: ConnectionSettings, ...statements: readonly string[]) =>
  withDatabase(settings, async ({ db }) => {
    let rows: readonly unknown[] = []
    for (const sql of statements) rows = (await db.executeQuery(CompiledQuery.raw(sql))).rows
    return rows
  })

/** A row with a value at each limit. */
const ordinary = {
  id: '1',
  owner_id: '9007199254740991',
  code: `'a '`,
  body: `'漢字 😀'`,
  count: '-2147483648',
  balance: '-9007199254740991',
  enabled: '1',
  created_at: '253370764800000',
  ended_at: '0',
  attributes: `'{"b":1.50,"a":[true,null]}'`,
  amount_raw: `'115792089237316195423570985008687907853269984665640564039457584007913129639935'`,
  picture: `x'00ff0a'`,
  note: 'null',
}
type Column = keyof typeof ordinary

const insertOf = (values: Partial<Record<Column, string>>) => {
  const row = { ...ordinary, ...values }
  return `insert into sample (${Object.keys(row).join(', ')}) values (${Object.values(row).join(', ')})`
}

const migrate = (settings: ConnectionSettings) =>
  withDatabase(settings, async ({ db, dialect }) => {
    let id = 1
    await new Migrator({ db, dialect, plugins: changeSets, newId: () => id++ }).migrate()
  })

async function sampleFile(t: Test, ...statements: readonly string[]): Promise<TestDatabase> {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  await migrate(db.settings)
  await run(db.settings, ...statements)
  return db
}

/** Starts a product, and returns the code of the error that prevents it. */
const startFailure = (t: Test, db: TestDatabase) =>
  startOn(t, db, samplePlugin).then(
    () => undefined,
    (error: unknown) => causeCodeOf(error),
  )

async function emptyFile(t: Test): Promise<ConnectionSettings> {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return db.settings
}

onEachDatabase(t, 'all rows are moved from SQLite and back, and the former database rejects starts', async (t, db) => {
  const source = await sampleFile(t, insertOf({}), insertOf({ id: '2', code: `'A'`, enabled: '0', attributes: 'null' }))
  const there = await move(source.settings, db.settings)
  t.same(
    there.tables.map(({ table, rows }) => `${table} ${rows}`),
    ['database_id_node 0', 'sample 2', 'sample_counter 2'],
  )
  assertMembers(t, there, { moved: true, rows: 4, notCopied: ['database_clock'] })
  t.equal(await startFailure(t, source), 'PLINTH_DATABASE_MOVED')
  await rejectsWith(t, move(source.settings, db.settings), { code: 'PLINTH_DATABASE_MOVED' })
  const back = await move(db.settings, await emptyFile(t))
  t.same(back.tables, there.tables, 'the hashes are equal')
  t.equal(await startFailure(t, db), 'PLINTH_DATABASE_MOVED')
  await rejectsWith(t, cancelMove(source.settings, false), { code: 'PLINTH_DATABASE_MOVED' })
  await cancelMove(source.settings, true)
  const { service } = await startOn(t, source, samplePlugin)
  t.same(await service.query('select count(*) as rows_left from sample'), [{ rows_left: 2 }])
})

/** Each value that a target cannot store, with the column and the rule of its problem. */
const badValues: readonly (readonly [Column, value: string, rule: SourceProblem['rule']])[] = [
  ['enabled', '2', 'not-a-boolean'],
  ['enabled', `'yes'`, 'not-a-boolean'],
  ['count', '2147483648', 'out-of-range'],
  ['count', `'many'`, 'not-an-integer'],
  ['count', '1.5', 'not-an-integer'],
  ['balance', '9007199254740993', 'out-of-range'],
  ['note', `'${'漢'.repeat(21)}'`, 'too-long'],
  ['amount_raw', `'${'9'.repeat(79)}'`, 'too-long'],
  ['body', `'a' || char(0) || 'b'`, 'zero-character'],
  ['body', `cast(x'61ff62' as text)`, 'invalid-utf-8'],
  ['body', `x'6162'`, 'not-text'],
  ['created_at', `'yesterday'`, 'not-a-time'],
  ['created_at', '253402300800000', 'out-of-range'],
  ['attributes', `'{"a":'`, 'invalid-json'],
  ['attributes', `'{"a":"\\u0000"}'`, 'json-character'],
  ['attributes', `'["\\ud83d"]'`, 'json-character'],
  ['picture', `'text'`, 'not-bytes'],
]

const onPostgresql = { skip: dialectSkip('postgresql') }
t.test('all values that the target cannot store are reported before the first row', onPostgresql, async (t) => {
  const fine = insertOf({ note: `'${'😀'.repeat(20)}'` })
  const rows = badValues.map(([column, value], index) =>
    insertOf({ id: String(index + 10), code: `'${index}'`, [column]: value }),
  )
  const source = await sampleFile(t, fine, ...rows)
  const target = await createDatabase('postgresql')
  t.teardown(() => target.drop())
  const error = await move(source.settings, target.settings).catch((thrown: unknown) => thrown)
  const { code, problems }: { code?: string; problems?: readonly SourceProblem[] } = Object(error)
  t.equal(code, 'PLINTH_DATABASE_MOVE_SOURCE')
  const byKey = (a: SourceProblem, b: SourceProblem) => (String(a.key) < String(b.key) ? -1 : 1)
  t.same(
    problems?.toSorted(byKey).map(({ table, column, key, rule }) => [table, column, key, rule]),
    badValues.map(([column, , rule], index) => ['sample', column, `id=${index + 10}`, rule]),
  )
  t.same(await withDatabase(target.settings, async (one) => [...(await tableNamesOf(one))]), [], 'nothing was written')
  await startOn(t, source, samplePlugin)
})

const onMariadb = { skip: dialectSkip('mariadb') }
t.test('MariaDB rejects deep JSON, and rows that are larger than its packets', onMariadb, async (t) => {
  const deep = (levels: number) => `'${'['.repeat(levels)}1${']'.repeat(levels)}'`
  const source = await sampleFile(t, insertOf({ attributes: deep(31) }))
  await run(source.settings, insertOf({ id: '2', code: `'2'`, attributes: deep(32) }))
  await run(source.settings, insertOf({ id: '3', code: `'3'`, body: `hex(zeroblob(10000000))` }))
  const target = await createDatabase('mariadb')
  t.teardown(() => target.drop())
  const error = await move(source.settings, target.settings).catch((thrown: unknown) => thrown)
  const { problems }: { problems?: readonly SourceProblem[] } = Object(error)
  t.same(
    problems?.map(({ key, rule }) => [key, rule]),
    [
      ['id=2', 'json-depth'],
      ['id=3', 'row-too-large'],
    ],
  )
})

t.test('tables and columns that no change set describes are rejected by name', async (t) => {
  const source = await sampleFile(t, 'create table notes (id integer)', 'alter table sample add column extra text')
  const error = await move(source.settings, await emptyFile(t)).catch((thrown: unknown) => thrown)
  const { problems }: { problems?: readonly SourceProblem[] } = Object(error)
  t.same(
    problems?.map(({ table, column, rule }) => [table, column, rule]),
    [
      ['notes', undefined, 'unknown-table'],
      ['sample', 'extra', 'unknown-column'],
    ],
  )
})

t.test('a target that is not empty, the same database, and other change sets are rejected', async (t) => {
  const source = await sampleFile(t)
  const other = await sampleFile(t)
  await rejectsWith(t, move(source.settings, other.settings), { code: 'PLINTH_DATABASE_MOVE_TARGET' })
  await rejectsWith(t, move(source.settings, source.settings), { code: 'PLINTH_DATABASE_MOVE_OPTIONS' })
  const later = defineChangeSet({
    id: '0005-later',
    up: ({ schema, type }) => [schema.createTable('later').addColumn('id', type.id, (c) => c.primaryKey())],
  })
  const newer = [...changeSets, { plugin: 'newer', changeSets: [later] }]
  const pending = move(source.settings, await emptyFile(t), { changeSets: newer })
  await rejectsWith(t, pending, { code: 'PLINTH_DATABASE_MOVE_CHANGE_SETS' })
  const orphaned = move(source.settings, await emptyFile(t), { changeSets: changeSets.slice(0, 1) })
  await rejectsWith(t, orphaned, { code: 'PLINTH_DATABASE_MOVE_CHANGE_SETS' })
  await rejectsWith(t, cancelMove(source.settings, false), { code: 'PLINTH_DATABASE_MOVE_NONE' })
})

t.test('a running process keeps a move from starting', async (t) => {
  const source = await sampleFile(t, insertOf({}))
  const { running } = await startOn(t, source, samplePlugin)
  await rejectsWith(t, move(source.settings, await emptyFile(t)), { code: 'PLINTH_DATABASE_MOVE_IN_USE' })
  await running.stop('the operator stops it')
  t.ok((await move(source.settings, await emptyFile(t))).moved)
})

t.test('an interrupted move continues, and both databases reject starts until it ends', async (t) => {
  const source = await sampleFile(t, insertOf({}))
  const target = await createDatabase('sqlite')
  t.teardown(() => target.drop())
  const failing = (on: string): readonly CommandFinding[] =>
    on === 'target' ? [{ check: 'data of ledger', outcome: 'failed', detail: 'one difference' }] : []
  const failed = move(source.settings, target.settings, { examine: async (on) => failing(on) })
  await rejectsWith(t, failed, { code: 'PLINTH_DATABASE_MOVE_CHECKS' })
  t.equal(await startFailure(t, source), 'PLINTH_DATABASE_MOVING')
  t.equal(await startFailure(t, target), 'PLINTH_DATABASE_MOVE_UNFINISHED')
  await rejectsWith(t, move(source.settings, await emptyFile(t)), { code: 'PLINTH_DATABASE_MOVING' })
  const known = await move(source.settings, target.settings, { examine: async () => failing('target') })
  t.strictSame(known.earlierFailures, failing('target'), 'a check that failed before does not stop the move')
  await startOn(t, target, samplePlugin)
})

onEachDatabase(t, 'during a move, another move, a start and a cancellation are rejected', async (t, db) => {
  await migrate(db.settings)
  const [checked, examined] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const [second, first] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const late = move(db.settings, await emptyFile(t), {
    examine: async () => {
      checked.resolve()
      await second.promise
      return []
    },
  })
  const isLate = rejectsWith(t, late, { code: 'PLINTH_DATABASE_MOVE_IN_USE' })
  await checked.promise
  const moved = move(db.settings, await emptyFile(t), {
    examine: async (on) => {
      if (on === 'source') return []
      examined.resolve()
      await first.promise
      return []
    },
  })
  await examined.promise
  second.resolve()
  await isLate
  t.equal(await startFailure(t, db), 'PLINTH_DATABASE_MOVING')
  // The wait for the lock of a server is longer; the proof of moves has this case.
  if (db.settings.type === 'sqlite') {
    const cancelled = cancelMove({ ...db.settings, busyTimeoutMs: 50 }, false)
    await rejectsWith(t, cancelled, { code: 'PLINTH_DATABASE_MOVE_IN_USE' })
  }
  first.resolve()
  assertMembers(t, await moved, { moved: true })
  t.equal(await startFailure(t, db), 'PLINTH_DATABASE_MOVED')
})

t.test('a move that continues after its proof compares the rows again', async (t) => {
  const source = await sampleFile(t, insertOf({}))
  const target = await emptyFile(t)
  const examine = async (on: 'source' | 'target') => {
    if (on === 'target') throw new Error('ended')
    return []
  }
  await rejectsWith(t, move(source.settings, target, { examine }), { message: 'ended' })
  await run(source.settings, `update sample set balance = 5`)
  const error = await move(source.settings, target).catch((thrown: unknown) => thrown)
  assertMembers(t, error, { code: 'PLINTH_DATABASE_MOVE_PROOF' })
  t.strictSame(Object(error).problems, [{ table: 'sample', kind: 'changed', rows: 1, from: 'id=1', to: 'id=1' }])
  await run(source.settings, `update sample set balance = -9007199254740991`)
  assertMembers(t, await move(source.settings, target), { moved: true })
})

t.test('a target with the tables of a move that never began is empty', async (t) => {
  const [source, target] = [await sampleFile(t), await emptyFile(t)]
  await withDatabase(target, ({ db, dialect }) => createMoveTables(db, dialect))
  assertMembers(t, await move(source.settings, target), { moved: true })
})

t.test('a cancelled move leaves the source usable, and its target rejects another move', async (t) => {
  const source = await sampleFile(t, insertOf({}))
  const target = await emptyFile(t)
  const stop = new AbortController()
  const examine = async (on: string) => {
    if (on === 'target') stop.abort(new Error('the operator stops it'))
    stop.signal.throwIfAborted()
    return []
  }
  await rejectsWith(t, move(source.settings, target, { examine, signal: stop.signal }), {
    message: 'the operator stops it',
  })
  assertMembers(t, await cancelMove(source.settings, false), { state: 'moving' })
  await rejectsWith(t, move(source.settings, target), { code: 'PLINTH_DATABASE_MOVE_TARGET' })
  await startOn(t, source, samplePlugin)
})

t.test('an invalid option is named', async (t) => {
  const source = await sampleFile(t)
  const context = {
    source: source.settings,
    changeSets,
    processTables: new Set<string>(),
    clock: systemClock,
    root: '/',
  }
  const targets = ['', 'sqlite:', 'sqlite::memory:', 'shop', 'https://u@h/shop', 'postgresql://h/shop', 'mysql://u@h']
  const unclear = ['postgresql://u%ZZ@h/shop', 'postgresql://u@h/%ff', 'mariadb://u@h/shop?x=1', 'mariadb://u@h/shop#1']
  for (const to of [...targets, ...unclear, 'postgresql://u:password@h/shop']) {
    const invocation = { options: { to }, signal: new AbortController().signal } as unknown as CommandInvocation
    await rejectsWith(t, runMoveCommand(context, invocation), { code: 'PLINTH_DATABASE_MOVE_OPTIONS' }, to)
  }
})

t.test('a rehearsal changes nothing', async (t) => {
  const source = await sampleFile(t, insertOf({}))
  const target = { ...source.settings, file: join(source.directory, 'new.sqlite') } as ConnectionSettings
  assertMembers(t, await move(source.settings, target, { isRehearsal: true }), { moved: false, rows: 3, tables: [] })
  t.notOk(existsSync(join(source.directory, 'new.sqlite')))
  const names = await withDatabase(source.settings, async (one) => [...(await tableNamesOf(one))])
  t.notOk(names.includes('database_move'))
})

t.test('canonical JSON is equal for equal values, and keeps all digits', async (t) => {
  t.equal(canonicalJson('{"b":1.50,"a":{"d":1e2,"c":-0.0}}'), '{"a":{"c":0,"d":1e2},"b":15e-1}')
  t.equal(canonicalJson('{"a":1,"a":2}'), canonicalJson('{"a":2}'))
  t.not(canonicalJson('12345678901234567890'), canonicalJson('12345678901234567891'))
  t.equal(canonicalJson('"\\u00e9"'), canonicalJson('"é"'))
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      const spaced = JSON.stringify(value, undefined, 2)
      t.equal(canonicalJson(spaced), canonicalJson(text))
    }),
    { numRuns: 50 },
  )
})
