import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import databasePlugin, { type Database, database } from '@plinth/database'
import { followedClock, type ServerSettings } from '@plinth/database/parts'
import { type Clock, definePlugin, defineProduct, type JsonValue, type Plugin, systemClock } from '@plinth/kernel'
import { addTestPlugins, skipWithoutServer, startForTest } from '../index.ts'

/** Databases that are tested. Tests for MySQL run on MariaDB. */
export type TestDialect = 'sqlite' | 'postgresql' | 'mariadb'

/** An empty database for one test. */
export interface TestDatabase {
  readonly dialect: TestDialect
  /** Configuration of a product that uses this database. */
  readonly config: Readonly<Record<string, JsonValue>>
  /** Directory of the test. It contains the SQLite file. */
  readonly directory: string
  drop(): Promise<void>
}

const servers = {
  postgresql: {
    username: 'postgres',
    port: 5432,
    administration: 'postgres',
    drop: (name: string) => `${name} with (force)`,
  },
  mariadb: { username: 'root', port: 3306, administration: 'mysql', drop: (name: string) => name },
} as const

/** Local database servers on their default ports, without a password. */
export type TestServer = keyof typeof servers

/** Timeout for connections, because a machine that runs many tests is slow. */
const patience = '60s'

const configOn = (server: TestServer, name: string) => ({
  'platform.database.type': server,
  'platform.database.name': name,
  'platform.database.username': servers[server].username,
  'platform.database.pool-size': 5,
  'platform.database.connect-timeout': patience,
})

/** Returns the connection settings of a test database, or `undefined` for SQLite. */
export function serverSettings(config: Readonly<Record<string, JsonValue>>): ServerSettings | undefined {
  const type = config['platform.database.type']
  if (type !== 'postgresql' && type !== 'mariadb') return undefined
  const { port, username } = servers[type]
  return {
    type,
    host: '127.0.0.1',
    port,
    name: String(config['platform.database.name']),
    username,
    password: '',
    tls: 'off',
    poolSize: 2,
    preparedStatements: false,
    connectTimeoutMs: 60_000,
    queryTimeoutMs: 60_000,
    transactionTimeoutMs: 60_000,
  }
}

/** Runs statements on a server, outside the databases of tests. */
export async function runOnServer(server: TestServer, ...statements: string[]): Promise<void> {
  await runOnServerAs(server, servers[server].username, statements)
}

/**
 * Runs statements as another user, who has no password.
 *
 * @throws the error of a server that rejects the user
 */
export function runOnServerAs(server: TestServer, username: string, statements: readonly string[]): Promise<void> {
  return administer(server, username, async (administration) => {
    for (const statement of statements) await administration.execute(statement)
  })
}

async function administer(
  server: TestServer,
  username: string,
  work: (administration: Database) => Promise<void>,
): Promise<void> {
  const config = {
    ...configOn(server, servers[server].administration),
    'platform.database.username': username,
    'platform.database.migrate-at-start': false,
  }
  const product = defineProduct({ name: 'administration', plugins: [databasePlugin], config })
  const running = await startForTest(product, { roles: ['cli'] })
  try {
    await work(running.service(database))
  } finally {
    await running.stop('done')
  }
}

/**
 * By default, PostgreSQL writes each page of a new database to its log. If `fsync` is off, copying files is enough, and
 * takes a seventh of the processor time.
 *
 * If the tablespace `plinth_test` exists, databases are created there. `.ci/run` creates it in memory, because creating
 * files on a disk is slow while others are being removed.
 */
const creationRule = `
  select current_setting('fsync') = 'off' and cast(current_setting('server_version_num') as integer) >= 150000 as copies,
    exists (select 1 from pg_tablespace where spcname = 'plinth_test'
      and (pg_stat_file(pg_tablespace_location(oid), true)).isdir) as "inMemory"`
let creation: { readonly copies: boolean; readonly inMemory: boolean } | undefined

async function makeDatabase(server: TestServer, name: string, administration: Database): Promise<void> {
  if (server === 'postgresql') creation ??= (await administration.query<typeof creation & object>(creationRule))[0]
  const rule = server === 'postgresql' ? creation : undefined
  const strategy = rule?.copies === true ? ' strategy file_copy' : ''
  const place = rule?.inMemory === true ? ' tablespace plinth_test' : ''
  await administration.execute(`create database ${name}${strategy}${place}`)
  // Test data need not survive a power failure.
  if (server === 'postgresql') await administration.execute(`alter database ${name} set synchronous_commit = off`)
}

/**
 * Returns the reason to skip tests; `false` if the port accepts connections. It does not log in, because this would
 * load the driver into every test process.
 */
export const skipServer = (server: TestServer, { port }: { readonly port: number } = servers[server]) =>
  skipWithoutServer(server, port)

/** A database for tests, with the reason to skip it if it is an unreachable server. */
export interface TestedDialect {
  readonly dialect: TestDialect
  readonly skip: false | string
}

/** All databases. */
export const everyDialect: readonly TestedDialect[] = [
  { dialect: 'sqlite', skip: false },
  { dialect: 'postgresql', skip: await skipServer('postgresql') },
  { dialect: 'mariadb', skip: await skipServer('mariadb') },
]

const selected = process.env['PLINTH_TEST_DATABASE'] ?? 'sqlite'
if (everyDialect.every(({ dialect }) => dialect !== selected))
  throw new Error(`PLINTH_TEST_DATABASE is "${selected}", not sqlite, postgresql or mariadb`)

/** The database of this run: SQLite, or the one that `PLINTH_TEST_DATABASE` names. */
export const dialectsUnderTest = everyDialect.filter(({ dialect }) => dialect === selected)

/** The server of this run: PostgreSQL, unless `PLINTH_TEST_DATABASE` names another server. */
export const serversUnderTest: readonly { readonly dialect: TestServer; readonly skip: false | string }[] =
  everyDialect.flatMap(({ dialect, skip }) =>
    dialect === (selected === 'mariadb' ? selected : 'postgresql') ? [{ dialect, skip }] : [],
  )

/** Creates an empty database with a unique name. */
export async function createDatabase(dialect: TestDialect): Promise<TestDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'plinth-test-'))
  const removeDirectory = () => rmSync(directory, { recursive: true, force: true })
  if (dialect === 'sqlite') {
    const config = {
      'platform.database.sqlite.file': join(directory, 'test.sqlite'),
      'platform.database.sqlite.synchronous': 'normal',
      'platform.database.sqlite.busy-timeout': patience,
      'platform.database.connect-timeout': patience,
    }
    return { dialect, config, directory, drop: async () => removeDirectory() }
  }
  const name = `plinth_test_${randomBytes(6).toString('hex')}`
  await administer(dialect, servers[dialect].username, (administration) => makeDatabase(dialect, name, administration))
  const drop = async () => {
    await runOnServer(dialect, `drop database ${servers[dialect].drop(name)}`)
    removeDirectory()
  }
  return { dialect, config: configOn(dialect, name), directory, drop }
}

/** The functions of a test runner that are used here. */
interface Runner {
  // biome-ignore lint/suspicious/noExplicitAny: every runner passes a test of its own type
  test(name: string, options: { skip: false | string; timeout: number }, run: (t: any) => Promise<void>): unknown
  teardown(cleanUp: () => Promise<void>): void
}

/**
 * Runs the tests on an empty database of this run. Use it for behaviour that is the same on each database. The proofs
 * of the areas, for example `accounts`, run these tests on all databases.
 */
export function onDatabase<T extends Runner>(t: T, name: string, tests: DatabaseTests<T>): void {
  for (const one of dialectsUnderTest) onDialect(t, name, one, tests)
}

/**
 * Runs the tests on an empty database of each kind, in each run. Tests on unreachable servers are skipped. Use it for
 * what a package does differently on each database, such as its own SQL, locks and transactions.
 */
export function onEachDatabase<T extends Runner>(t: T, name: string, tests: DatabaseTests<T>): void {
  for (const one of everyDialect) onDialect(t, name, one, tests)
}

/** Runs the tests on each server, in each run. Use it for features that SQLite does not have, such as a server clock. */
export function onEachServer<T extends Runner>(t: T, name: string, tests: DatabaseTests<T>): void {
  for (const one of everyDialect) if (one.dialect !== 'sqlite') onDialect(t, name, one, tests)
}

/** Runs the tests on an empty SQLite database. Use it for logic that does not depend on the database. */
export function onSqlite<T extends Runner>(t: T, name: string, tests: DatabaseTests<T>): void {
  onDialect(t, name, { dialect: 'sqlite', skip: false }, tests)
}

type DatabaseTests<T> = (t: T, db: TestDatabase) => Promise<void>

function onDialect<T extends Runner>(
  t: T,
  name: string,
  { dialect, skip }: TestedDialect,
  tests: DatabaseTests<T>,
): void {
  t.test(`${name} (${dialect})`, { skip, timeout: 600_000 }, async (t: T) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    await tests(t, db)
  })
}

const hostClocks = new WeakSet<Clock>()

/**
 * Marks a clock so that a test database does not follow it. Then a server uses its real time, and SQLite its stored
 * time. Without the mark, the database follows the injected clock of the test.
 */
export function keepHostTime<C extends Clock>(clock: C): C {
  hostClocks.add(clock)
  return clock
}

/** A clock in real time whose wall clock can be shifted by `shiftMs`. */
export interface ShiftedClock extends Clock {
  shiftMs: number
}

/** @param shiftMs milliseconds by which the wall clock is ahead; negative if it is behind */
export function createShiftedClock(shiftMs = 0): ShiftedClock {
  const clock = { ...systemClock, shiftMs, now: () => systemClock.now() + clock.shiftMs }
  return keepHostTime(clock)
}

/** Returns a plugin that makes the time of the database follow a clock. */
export const createFollowedClockPlugin = (clock: Clock): Plugin =>
  definePlugin({
    id: 'followed-clock',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [followedClock],
    setup: ({ provide }) => provide(followedClock, { now: () => clock.now() }),
  })

addTestPlugins(({ plugins }, { clock = systemClock }) => {
  const isOwnTime = clock === systemClock || hostClocks.has(clock)
  return isOwnTime || !plugins.some(({ id }) => id === 'database') ? [] : [createFollowedClockPlugin(clock)]
})
