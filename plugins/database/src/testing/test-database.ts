import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, definePlugin, defineProduct, type JsonValue, type Plugin, systemClock } from '@plinth/kernel'
import { addToTests, skipWithoutServer, startForTest } from '@plinth/kernel/testing'
import type { ServerSettings } from '../connections/connection-failure.ts'
import { type Database, database } from '../contract.ts'
import databasePlugin from '../plugin.ts'
import { followedClock } from '../time/database-clock.ts'

/** Databases for tests. MySQL is tested through MariaDB. */
export type TestDialect = 'sqlite' | 'postgresql' | 'mariadb'

/** An empty database for one test. */
export interface TestDatabase {
  readonly dialect: TestDialect
  /** Configuration of a product that uses it. */
  readonly config: Readonly<Record<string, JsonValue>>
  /** A separate directory for the test. It contains the database file of SQLite. */
  readonly directory: string
  /** Removes database and directory. */
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

/** Database servers of this machine, on their standard ports, without a password. */
export type TestServer = keyof typeof servers

/** A long timeout, because a machine that runs many tests is slow. */
const patience = '60s'

const configOn = (server: TestServer, name: string) => ({
  'platform.database.type': server,
  'platform.database.name': name,
  'platform.database.username': servers[server].username,
  'platform.database.pool-size': 5,
  'platform.database.connect-timeout': patience,
})

/** Returns the connection options for the configuration of `createDatabase`, or undefined for SQLite. */
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

/** Runs statements in the administration database of a server, through a separate product that does not migrate. */
export async function onServer(server: TestServer, ...statements: string[]): Promise<void> {
  await onServerAs(server, servers[server].username, statements)
}

/**
 * Like `onServer`, as a user without a password.
 *
 * @throws the error of a server that rejects the user
 */
export function onServerAs(server: TestServer, username: string, statements: readonly string[]): Promise<void> {
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
 * PostgreSQL creates a database by writing each page to its log, to survive a power loss. A server with `fsync` off can
 * copy files instead, with a seventh of the processor time (0.04 s, not 0.28 s).
 *
 * If the server has a tablespace of this name, the files of the tests are in it: `.ci/run` creates one in memory. On a
 * disk, creating files is much slower while others are being removed.
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
  // Data of tests need not survive a power loss.
  if (server === 'postgresql') await administration.execute(`alter database ${name} set synchronous_commit = off`)
}

/**
 * Returns the reason to skip the tests on a server; `false` if its port accepts connections. Does not connect to the
 * database, which would load the driver into every process that imports this. If the server then rejects the
 * connection, the first test fails.
 */
export const skipServer = (server: TestServer, { port }: { readonly port: number } = servers[server]) =>
  skipWithoutServer(server, port)

/** Databases to test on, with the reason to skip those whose server cannot be reached. */
export const dialectsUnderTest: readonly { readonly dialect: TestDialect; readonly skip: false | string }[] = [
  { dialect: 'sqlite', skip: false },
  { dialect: 'postgresql', skip: await skipServer('postgresql') },
  { dialect: 'mariadb', skip: await skipServer('mariadb') },
]

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
    await onServer(dialect, `drop database ${servers[dialect].drop(name)}`)
    removeDirectory()
  }
  return { dialect, config: configOn(dialect, name), directory, drop }
}

/** The required functions of a test runner: nested tests, and clean-up at their end. */
interface Runner {
  // biome-ignore lint/suspicious/noExplicitAny: every runner passes a test of its own type
  test(name: string, options: { skip: false | string; timeout: number }, run: (t: any) => Promise<void>): unknown
  teardown(cleanUp: () => Promise<void>): void
}

/**
 * Runs the tests on a new, empty database of each kind. If a server cannot be reached, its tests are skipped with the
 * reason. Use it for features that differ between databases: SQL, types, order, locks, transactions, leases.
 */
export function onEachDatabase<T extends Runner>(t: T, name: string, tests: DatabaseTests<T>): void {
  for (const { dialect, skip } of dialectsUnderTest) onDatabase(t, name, { dialect, skip }, tests)
}

/**
 * Runs the tests on each database server. Use it for features that a database in a file does not have: a clock of the
 * server, other hosts.
 */
export function onEachServer<T extends Runner>(t: T, name: string, tests: DatabaseTests<T>): void {
  for (const one of dialectsUnderTest) if (one.dialect !== 'sqlite') onDatabase(t, name, one, tests)
}

/** Runs the tests on an empty SQLite database. Use it for logic that does not depend on the kind of database. */
export function onSqlite<T extends Runner>(t: T, name: string, tests: DatabaseTests<T>): void {
  onDatabase(t, name, { dialect: 'sqlite', skip: false }, tests)
}

type DatabaseTests<T> = (t: T, db: TestDatabase) => Promise<void>

function onDatabase<T extends Runner>(
  t: T,
  name: string,
  { dialect, skip }: (typeof dialectsUnderTest)[number],
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
 * Marks the clock of a test as the clock of a host. The database then has a separate time: a server its real one,
 * SQLite its stored one. For tests with different clocks. Without it, the time of the database follows the injected
 * clock of the test.
 */
export function hostClock<C extends Clock>(clock: C): C {
  hostClocks.add(clock)
  return clock
}

/**
 * The clock of a host whose wall clock a test can shift. It runs in real time, and `shiftMs` is added to the wall
 * clock.
 */
export interface ShiftedClock extends Clock {
  shiftMs: number
}

/** @param shiftMs milliseconds by which the wall clock of the host is ahead; negative: behind */
export function shiftedHost(shiftMs = 0): ShiftedClock {
  const clock = { ...systemClock, shiftMs, now: () => systemClock.now() + clock.shiftMs }
  return hostClock(clock)
}

/** Returns a plugin that lets the time of the database follow a clock. */
export const followsClock = (clock: Clock): Plugin =>
  definePlugin({
    id: 'followed-clock',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [followedClock],
    setup: ({ provide }) => provide(followedClock, { now: () => clock.now() }),
  })

addToTests(({ plugins }, { clock = systemClock }) => {
  const isOwnTime = clock === systemClock || hostClocks.has(clock)
  return isOwnTime || !plugins.some(({ id }) => id === 'database') ? [] : [followsClock(clock)]
})
