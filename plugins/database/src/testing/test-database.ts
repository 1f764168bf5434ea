import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineProduct, type JsonValue } from '@plinth/kernel'
import { skipWithoutServer, startForTest } from '@plinth/kernel/testing'
import type { ServerSettings } from '../connections/connection-failure.ts'
import { type Database, database } from '../contract.ts'
import databasePlugin from '../plugin.ts'

/** Databases that tests run on. MySQL is tested through MariaDB. */
export type TestDialect = 'sqlite' | 'postgresql' | 'mariadb'

/** An empty database of a test. */
export interface TestDatabase {
  readonly dialect: TestDialect
  /** Configuration of a product that uses it. */
  readonly config: Readonly<Record<string, JsonValue>>
  /** A directory of the test's own. On SQLite the database file lies there. */
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

/** A machine that runs many tests at once is slow, not broken. */
const patience = '60s'

const configOn = (server: TestServer, name: string) => ({
  'platform.database.type': server,
  'platform.database.name': name,
  'platform.database.username': servers[server].username,
  'platform.database.pool-size': 5,
  'platform.database.connect-timeout': patience,
})

/** How a database on a server is reached, from what `createDatabase` gave as configuration of a product. */
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

/** Runs statements in the administration database of a server, through a product of its own that migrates nothing. */
export async function onServer(server: TestServer, ...statements: string[]): Promise<void> {
  await onServerAs(server, servers[server].username, statements)
}

/** As `onServer`, as a user without a password. @throws what a server says that refuses the user */
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
 * PostgreSQL makes a database by writing each page to its log, so that a loss of power harms nothing. A server that
 * promises nothing of the kind copies files instead, for a seventh of the processor time (0.04 s, not 0.28 s).
 *
 * Where the server has a tablespace of this name, as `.ci/run` makes one in memory, the files of the tests lie there: a disk
 * takes far longer to make files while others were just removed.
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
  // What tests write need not survive a loss of power.
  if (server === 'postgresql') await administration.execute(`alter database ${name} set synchronous_commit = off`)
}

/**
 * The reason to skip the tests on a server; `false` when somebody listens. No more is asked: a connection would load the
 * driver into every process that imports this. A server that is there and refuses fails the first test on it.
 */
export const skipServer = (server: TestServer, { port }: { readonly port: number } = servers[server]) =>
  skipWithoutServer(server, port)

/** What to test on, with the reason to skip those whose server cannot be reached. */
export const dialectsUnderTest: readonly { readonly dialect: TestDialect; readonly skip: false | string }[] = [
  { dialect: 'sqlite', skip: false },
  { dialect: 'postgresql', skip: await skipServer('postgresql') },
  { dialect: 'mariadb', skip: await skipServer('mariadb') },
]

/** An empty database with a name of its own. */
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

/** What a test runner must offer: tests inside tests, and clean-up at their end. */
interface Runner {
  // biome-ignore lint/suspicious/noExplicitAny: every runner passes a test of its own type
  test(name: string, options: { skip: false | string; timeout: number }, run: (t: any) => Promise<void>): unknown
  teardown(cleanUp: () => Promise<void>): void
}

/**
 * Runs the tests once per database, each run on an empty one of its own. A database whose server cannot be reached is
 * skipped with the reason. For what a database may do in its own way: SQL, types, order, locks, transactions, leases.
 */
export function onEachDatabase<T extends Runner>(t: T, name: string, tests: DatabaseTests<T>): void {
  for (const { dialect, skip } of dialectsUnderTest) onDatabase(t, name, { dialect, skip }, tests)
}

/** Runs the tests on each database server, for what a database in a file has not: a clock of its own, other hosts. */
export function onEachServer<T extends Runner>(t: T, name: string, tests: DatabaseTests<T>): void {
  for (const one of dialectsUnderTest) if (one.dialect !== 'sqlite') onDatabase(t, name, one, tests)
}

/** Runs the tests on an empty SQLite database: for what is decided above the database, and is the same on each. */
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
