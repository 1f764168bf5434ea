import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { database } from '@plinth/database'
import { type ConnectionSettings, cancelMove, moveDatabase } from '@plinth/database/parts'
import { tableNamesOf, withDatabase } from '@plinth/database/stored-data'
import { rejectsWith, waitForProcessEnd } from '@plinth/dev/testing'
import { createDatabase, everyDialect, type TestDialect } from '@plinth/dev/testing/database'
import { systemClock } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { startWithRows } from '../back-office/back-office-rows.ts'
import {
  addEntries,
  changeSets,
  emptyDatabase,
  execute,
  filledDatabase,
  largeTableRows,
  type MoveOutcome,
  moveInProcess,
  query,
} from './databases.ts'
import type { KillPoint } from './moving-process.ts'
import { processTablesOf, quickstartPlugins } from './quickstart-plugins.ts'

const missing = everyDialect.find(({ skip }) => skip !== false)?.skip ?? false
const options = { skip: missing, timeout: 3_600_000 }
const rowsOfTable = 25

const digestOf = ({ result }: MoveOutcome) => result?.tables.map(({ table, rows, sum }) => `${table} ${rows} ${sum}`)

t.test('rows of all tables of the quickstart survive moves between all databases', { ...options }, async (t) => {
  const processTables = processTablesOf(quickstartPlugins)
  const first = await filledDatabase(t, 'sqlite', rowsOfTable)
  let expected: readonly string[] | undefined
  for (const chain of [
    ['postgresql', 'mariadb', 'sqlite'],
    ['mariadb', 'postgresql', 'sqlite'],
  ] as const) {
    let source = first
    if (expected !== undefined) await execute(first, 'drop table database_move_progress', 'drop table database_move')
    for (const dialect of chain) {
      const target = await emptyDatabase(t, dialect)
      const outcome = await moveInProcess(source, target)
      const digest = digestOf(outcome)
      t.ok(digest, `${source.type} to ${dialect}: ${outcome.stderr.slice(-2_000)}`)
      expected ??= digest
      t.same(digest, expected, 'the hashes are equal')
      t.ok(
        outcome.result?.tables.every(({ rows }) => rows > 0),
        'every table has rows',
      )
      t.same(outcome.result?.notCopied.toSorted(), [...processTables].toSorted())
      t.same(await moveTablesIn(target), [], 'the target is an ordinary database')
      source = target
    }
  }
})

const moveTablesIn = (settings: ConnectionSettings) =>
  withDatabase(settings, async (one) =>
    [...(await tableNamesOf(one))].filter((name) => name.startsWith('database_move')),
  )

/** Places at which the process is killed, in the order of the procedure. */
const killPoints: readonly (readonly [string, KillPoint])[] = [
  ['the source is not marked', { statement: 'create table .*database_move\\b', nth: 1, when: 'after' }],
  ['the source is marked', { statement: 'insert into .database_move. ', nth: 1, when: 'after' }],
  ['the tables are locked', { statement: '^(begin immediate|lock table)', nth: 1, when: 'after' }],
  ['values are checked', { statement: '^select .* order by', nth: 20, when: 'before' }],
  ['the target is not marked', { statement: 'create table .*database_move_progress', nth: 1, when: 'after' }],
  ['the target is marked', { statement: 'insert into .database_move. ', nth: 1, when: 'after' }],
  ['change sets are applied', { statement: 'create table .iam_user. ', nth: 1, when: 'after' }],
  ['rows of change sets are removed', { statement: 'delete from .iam_user.$', nth: 1, when: 'after' }],
  ['rows are inserted without a resume point', { statement: 'insert into .iam_user. ', nth: 1, when: 'after' }],
  ['the resume point is deleted', { statement: 'delete from .database_move_progress', nth: 30, when: 'after' }],
  [
    'the resume point is written, not committed',
    { statement: 'insert into .database_move_progress', nth: 5, when: 'after' },
  ],
  ['a table is complete, not marked', { statement: 'delete from .database_move_progress', nth: 12, when: 'before' }],
  ['hashes are compared', { statement: 'select \\* from .database_move_progress', nth: 2, when: 'after' }],
  ['the target is not marked as proven', { statement: 'update .database_move. ', nth: 1, when: 'before' }],
  ['the source is not marked as moved', { statement: 'update .database_move. ', nth: 2, when: 'before' }],
  ['the source is marked as moved, not committed', { statement: 'update .database_move. ', nth: 2, when: 'after' }],
  ['the source is moved, the target is marked', { statement: 'drop table .*_progress', nth: 1, when: 'before' }],
]

const pairs: readonly (readonly [TestDialect, TestDialect])[] = [
  ['sqlite', 'postgresql'],
  ['sqlite', 'mariadb'],
  ['postgresql', 'mariadb'],
  ['mariadb', 'sqlite'],
]
for (const [from, to] of pairs) {
  t.test(
    `a move from ${from} to ${to} is killed at ${killPoints.length} places and continues`,
    { ...options },
    async (t) => {
      const source = await filledDatabase(t, from, rowsOfTable)
      const target = await emptyDatabase(t, to)
      let kills = 0
      for (const [place, kill] of killPoints) {
        const { killed, stderr } = await moveInProcess(source, target, kill)
        if (killed) kills++
        else t.comment(`not killed: ${place}: ${stderr.slice(-1_000)}`)
      }
      t.ok(kills >= 12, `the process died at ${kills} places`)
      const outcome = await moveInProcess(source, target)
      const unkilled = await moveInProcess(await filledDatabase(t, from, rowsOfTable), await emptyDatabase(t, 'sqlite'))
      t.ok(digestOf(outcome), outcome.stderr.slice(-2_000))
      t.same(digestOf(outcome), digestOf(unkilled), 'every row is equal, and none is doubled')
    },
  )
}

t.test('a running move cannot be cancelled', { ...options }, async (t) => {
  for (const dialect of ['postgresql', 'mariadb'] as const) {
    const source = await filledDatabase(t, dialect, 1)
    let cancelled: unknown
    const { moved } = await moveDatabase({
      source,
      target: await emptyDatabase(t, 'sqlite'),
      changeSets,
      processTables: processTablesOf(quickstartPlugins),
      clock: systemClock,
      signal: new AbortController().signal,
      onProgress: () => {},
      isRehearsal: false,
      async examine(on) {
        if (on === 'target') cancelled = await cancelMove(source, false).catch((error: unknown) => error)
        return []
      },
    })
    t.hasStrict(cancelled, { code: 'PLINTH_DATABASE_MOVE_IN_USE' }, dialect)
    t.equal(moved, true)
    await rejectsWith(t, cancelMove(source, false), { code: 'PLINTH_DATABASE_MOVED' })
  }
})

/** The move is complete, but its rows are not compared yet. */
const beforeProof: KillPoint = { statement: 'select \\* from .database_move_progress', nth: 2, when: 'before' }

interface Fault {
  readonly name: string
  readonly plant: readonly string[]
  readonly undo: readonly string[]
  readonly found: RegExp
}

/** SQL that works on all databases. */
const faults: readonly Fault[] = [
  {
    name: 'a changed digit',
    plant: ['update money_entry set d_available = 4711 where id = 5'],
    undo: ['update money_entry set d_available = 5 where id = 5'],
    found: /in 1 table\(s\):\s+money_entry: 1 changed, id=5$/m,
  },
  {
    name: 'a changed text',
    plant: [`update money_account set asset = 'x' where id = 6`],
    undo: [],
    found: /money_account: 1 changed, id=6/,
  },
  {
    name: 'swapped rows',
    plant: ['update money_hold set amount = 8 where id = 7', 'update money_hold set amount = 7 where id = 8'],
    undo: [],
    found: /money_hold: 2 changed, id=7 to id=8/,
  },
  {
    name: 'a lost row',
    plant: ['delete from money_journal where id = 9'],
    undo: [],
    found: /money_journal: 1 lost, id=9/,
  },
  {
    name: 'an extra row',
    plant: ["insert into database_id_node (node, reserved_until, holder) values (200, 0, 'nobody')"],
    undo: [],
    found: /database_id_node: 1 extra, node=200/,
  },
]

t.test('planted faults are found with their table and their keys', { ...options }, async (t) => {
  for (const dialect of ['postgresql', 'mariadb', 'sqlite'] as const) {
    const source = await filledDatabase(t, dialect === 'sqlite' ? 'postgresql' : 'sqlite', rowsOfTable)
    const target = await emptyDatabase(t, dialect)
    t.equal((await moveInProcess(source, target, beforeProof)).killed, true, dialect)
    for (const { name, plant, undo, found } of faults) {
      await execute(target, ...plant)
      const { result, stderr } = await moveInProcess(source, target)
      t.equal(result, undefined, `${name} on ${dialect}`)
      t.match(stderr, /PLINTH_DATABASE_MOVE_PROOF/)
      t.match(stderr, found, name)
      await execute(target, ...undo)
    }
    const [row] = await query<{ state: string }>(source, 'select state from database_move')
    t.equal(row?.state, 'moving', 'the source is not marked as moved')
  }
})

t.test(`${largeTableRows} rows are moved, and killed 12 times in between`, { ...options }, async (t) => {
  const source = await filledDatabase(t, 'sqlite', 1)
  await addEntries(source, largeTableRows)
  for (const dialect of ['postgresql', 'mariadb'] as const) {
    const target = await emptyDatabase(t, dialect)
    const nth = Math.floor(largeTableRows / 1_000 / 13)
    for (let kills = 0; kills < 12; kills++) {
      const when = kills % 2 === 0 ? 'after' : 'before'
      const kill: KillPoint = { statement: 'insert into .money_entry.', nth, when }
      t.equal((await moveInProcess(source, target, kill)).killed, true)
    }
    const { result, stderr } = await moveInProcess(source, target)
    t.ok(result, stderr.slice(-2_000))
    t.equal(result?.tables.find(({ table }) => table === 'money_entry')?.rows, largeTableRows + 1)
    t.comment(
      `${dialect}: the last part and the proof of ${largeTableRows} rows took ${result?.seconds} s, ${result?.maxMegabytes} MB`,
    )
    await execute(source, 'drop table database_move_progress', 'drop table database_move')
    const once = await moveInProcess(source, await emptyDatabase(t, dialect))
    t.same(digestOf(once), digestOf({ killed: false, stderr, ...(result === undefined ? {} : { result }) }))
    t.comment(
      `${dialect}: ${largeTableRows} rows at once took ${once.result?.seconds} s, ${once.result?.maxMegabytes} MB`,
    )
    await execute(source, 'drop table database_move_progress', 'drop table database_move')
  }
})

interface Shop {
  readonly plinth: (words: readonly string[], environment?: object) => Promise<Printed>
  readonly settings: ConnectionSettings
}
interface Printed {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A stopped quickstart with the rows of some days. Its commands run in processes of their own. */
async function stoppedShop(t: Test): Promise<Shop> {
  const ends: (() => Promise<unknown>)[] = []
  const { running } = await startWithRows((end) => ends.unshift(end))
  const file = running.service(database).place
  const drop = ends.pop()
  for (const end of ends) await end()
  t.teardown(async () => drop?.())
  const { resolve } = createRequire(import.meta.url)
  const config = {
    'platform.database.sqlite.file': file,
    'platform.http.port': 0,
    'platform.storage.root': join(dirname(file), 'storage'),
    'platform.system-config.master-key-file': join(dirname(file), 'master.key'),
    'platform.install.installed': true,
    'platform.mail.driver': 'file',
    'platform.mail.from': 'shop@example.com',
  }
  writeFileSync(
    join(dirname(file), 'plinth.config.ts'),
    `import quickstart from ${JSON.stringify(resolve('../../examples/quickstart/plinth.config.ts'))}
import { defineProduct } from ${JSON.stringify(resolve('@plinth/kernel'))}
const config = { ...quickstart.config, ...${JSON.stringify(config)} }
export default defineProduct({ name: 'quickstart', plugins: quickstart.plugins, config })
`,
  )
  const program = resolve('@plinth/kernel').replace('index.ts', 'cli/main.ts')
  const plinth: Shop['plinth'] = (words, environment = {}) =>
    waitForProcessEnd(
      spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...words], {
        cwd: dirname(file),
        env: { ...process.env, ...environment },
      }),
    )
  const limits = { connectTimeoutMs: 60_000, queryTimeoutMs: 60_000, transactionTimeoutMs: 60_000 }
  return { plinth, settings: { type: 'sqlite', file, busyTimeoutMs: 5_000, synchronous: 'normal', ...limits } }
}

t.test('the command moves a shop, which then only starts on the new database', { ...options }, async (t) => {
  const { plinth, settings } = await stoppedShop(t)
  const target = await createDatabase('postgresql')
  t.teardown(target.drop)
  const name = String(target.config['platform.database.name'])
  const move = ['database', 'move', '--to', `postgresql://postgres@127.0.0.1/${name}`]
  const password = { PLINTH_MOVE_PASSWORD: '' }
  const onTarget = {
    PLATFORM_DATABASE_TYPE: 'postgresql',
    PLATFORM_DATABASE_NAME: name,
    PLATFORM_DATABASE_USERNAME: 'postgres',
  }

  const withoutPassword = await plinth(move)
  t.match(withoutPassword.stderr, /PLINTH_DATABASE_MOVE_OPTIONS/)
  const rehearsal = await plinth([...move, '--dry-run'], password)
  t.equal(rehearsal.code, 0, rehearsal.stderr)
  t.match(rehearsal.stdout, /rows can be moved to .*Nothing was changed/)
  t.equal((await plinth(['database', 'move', '--cancel'])).code, 1, 'nothing is marked')

  const broken = 'update money_account set available = available + 1 where id = (select min(id) from money_account)'
  const moved = await plinth([...move, '--json'], password)
  t.equal(moved.code, 0, moved.stderr)
  const result = JSON.parse(moved.stdout)
  t.equal(result.moved, true)
  t.same(result.earlierFailures, [])
  t.ok(result.rows > 300, `${result.rows} rows`)
  t.ok(result.settings.includes('PLATFORM_DATABASE_PASSWORD=<password>'))
  t.match(moved.stderr, /money\.ledger: 100 %/, 'the ledger was reconciled')

  for (const words of [['start', '--no-supervisor'], ['migrate'], ['money', 'reconcile']]) {
    const { code, stderr } = await plinth(words)
    t.not(code, 0, words.join(' '))
    t.match(stderr, /were moved to 127\.0\.0\.1:5432/, words.join(' '))
  }
  const again = await plinth(move, password)
  t.match(again.stderr, /PLINTH_DATABASE_MOVED/)
  const doctor = await plinth(['doctor', '--data', '--json'], onTarget)
  t.equal(doctor.code, 0, doctor.stdout)
  const checks = JSON.parse(doctor.stdout).findings.map(({ check }: { check: string }) => check)
  t.ok(checks.includes('data of money.ledger') && checks.includes('data of system-config.secrets'), checks.join())

  t.match((await plinth(['database', 'move', '--cancel'])).stderr, /PLINTH_DATABASE_MOVED/)
  t.equal((await plinth(['database', 'move', '--cancel', '--yes'])).code, 0)
  const full = await plinth(move, password)
  t.match(full.stderr, /PLINTH_DATABASE_MOVE_TARGET: .* it is not empty/)

  await execute(settings, broken)
  const other = await createDatabase('sqlite')
  t.teardown(other.drop)
  const unbalanced = await plinth([
    'database',
    'move',
    '--to',
    `sqlite:${other.config['platform.database.sqlite.file']}`,
    '--json',
  ])
  t.equal(unbalanced.code, 0, unbalanced.stderr)
  const failed = JSON.parse(unbalanced.stdout).earlierFailures.map(({ check }: { check: string }) => check)
  t.same(failed, ['data of money.ledger'], 'it failed before too')
})

t.test(
  'another process, an unknown table or another version is rejected before the first row',
  { ...options },
  async (t) => {
    const { plinth, settings } = await stoppedShop(t)
    const move = ['database', 'move', '--to', `sqlite:${join(dirname(Object(settings).file), 'new.sqlite')}`]
    const rejected = async (code: string, plant: string, undo: string, more: RegExp) => {
      await execute(settings, plant)
      const { code: exit, stderr } = await plinth(move)
      t.equal(exit, 1)
      t.match(stderr, new RegExp(`^${code}:`, 'm'))
      t.match(stderr, more)
      t.same(await moveTablesIn(settings), [], 'the product can start')
      await execute(settings, undo)
    }
    await rejected(
      'PLINTH_DATABASE_MOVE_IN_USE',
      `insert into database_id_node (node, reserved_until, holder) values (99, 9999999999999, 'x')`,
      'delete from database_id_node where node = 99',
      /1 running process/,
    )
    await rejected(
      'PLINTH_DATABASE_MOVE_SOURCE',
      'create table notes (id integer)',
      'drop table notes',
      /notes: .*\[unknown-table\]/,
    )
    await rejected(
      'PLINTH_DATABASE_MOVE_CHANGE_SETS',
      `insert into schema_changelog values ('iam', '9999-future', '2:x', 1, 1, 1)`,
      `delete from schema_changelog where change_set = '9999-future'`,
      /unknown: iam\/9999-future/,
    )
    t.equal((await plinth(move)).code, 0, 'without these problems the move succeeds')
  },
)
