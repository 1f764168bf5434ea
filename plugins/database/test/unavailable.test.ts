/**
 * Tests that a server without free connections and a read-only server count as unavailable. Each change of this state
 * is logged once.
 */
import { database } from '@plinth/database'
import { rejectsWith, startForTest } from '@plinth/dev/testing'
import {
  skipWithoutMariadbPrograms,
  skipWithoutPostgresPrograms,
  startMariadb,
  startPostgres,
} from '@plinth/dev/testing/database'
import type { JsonValue } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { type ConnectionSettings, unavailableErrorOf } from '../src/connections/connection-failure.ts'
import type { DatabaseService } from '../src/database-service.ts'
import { onEachDatabase, productOn } from './fixtures/databases.ts'
import samplePlugin from './fixtures/sample-plugin.ts'

type Config = Readonly<Record<string, JsonValue>>

async function start(t: Test, config: Config) {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const running = await startForTest(productOn({ config }, samplePlugin), { logger })
  t.teardown(() => running.stop('test ended'))
  const reported = () =>
    lines.map((line) => JSON.parse(line).msg as string).filter((text) => /^the database (?:is|takes)/.test(text))
  return { service: running.service(database) as DatabaseService, reported }
}

const servers = [
  {
    type: 'postgresql',
    skip: skipWithoutPostgresPrograms,
    run: () => startPostgres({ max_connections: 10, superuser_reserved_connections: 0 }),
    config: { 'platform.database.username': 'postgres', 'platform.database.name': 'postgres' },
    sleep: 'select pg_sleep(0.2)',
  },
  {
    type: 'mariadb',
    skip: skipWithoutMariadbPrograms,
    // The server allows one more connection than this for the administrator, which the test also uses.
    run: () => startMariadb({ 'max-connections': 10 }),
    config: { 'platform.database.username': 'root' },
    sleep: 'select sleep(0.2)',
  },
] as const

for (const { type, skip, run, config, sleep } of servers) {
  t.test(`a server with too few connections is unavailable (${type})`, { skip, timeout: 600_000 }, async (t) => {
    const server = await run()
    t.teardown(() => server.drop())
    const settings = {
      ...config,
      'platform.database.type': type,
      'platform.database.port': server.port,
      'platform.database.pool-size': 20,
      'platform.database.connect-timeout': '60s',
    }
    const { service, reported } = await start(t, settings)
    const tooMany = { code: 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS', unavailable: true, message: /opens up to 22\./ }
    const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => service.query(sleep)))
    const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    t.ok(failed.length > 0 && failed.length < 40, `${failed.length} of 40 find no connection`)
    for (const error of failed) t.match(error, tooMany)
    t.same(reported(), ['the database is not available'])

    const end = Promise.withResolvers<void>()
    const holders = Array.from({ length: 11 }, () => service.transactional(() => end.promise).catch(() => undefined))
    const other = await start(t, settings).catch((error: unknown) => error)
    end.resolve()
    await Promise.all(holders)
    t.match(
      other,
      { code: /^PLINTH_START_FAILED$/, message: /opens up to 22\./, cause: { code: tooMany.code, fix: /pool-size/ } },
      'the error at start contains the size of the pool',
    )
  })
}

/** For each database: how to make the connection fail as after a change of the primary server. */
const becomeReadOnly = {
  sqlite: 'pragma query_only = on',
  postgresql: 'set default_transaction_read_only = on',
  mariadb: 'set session transaction read only',
} as const

onEachDatabase(t, 'a read-only database is unavailable, and its connection is replaced', async (t, db) => {
  const { service, reported } = await start(t, db.config)
  const add = () => service.execute('update sample_counter set value = value + ? where name = ?', [1, 'first'])
  const readOnly = { code: 'PLINTH_DATABASE_READ_ONLY', unavailable: true, fix: /primary/ }
  for (const write of [add, () => service.transactional(add), () => service.statements(add)]) {
    await service.execute(becomeReadOnly[db.dialect])
    await rejectsWith(t, write(), readOnly)
    // SQLite has one connection.
    if (db.dialect === 'sqlite') {
      await rejectsWith(t, write(), readOnly, 'as long as it is read-only')
      await service.execute('pragma query_only = off')
    }
    t.equal(await write(), 1, 'the next write succeeds')
  }
  t.same(reported(), ['the database takes no writes'], 'one line')
})

t.test(
  'a primary server that became read-only is unavailable (mariadb)',
  { skip: skipWithoutMariadbPrograms, timeout: 600_000 },
  async (t) => {
    const server = await startMariadb()
    t.teardown(() => server.drop())
    const config = { 'platform.database.type': 'mariadb', 'platform.database.port': server.port }
    const root = await start(t, { ...config, 'platform.database.username': 'root' })
    await root.service.execute(`create user clerk identified by ''`)
    await root.service.execute('grant all on plinth.* to clerk')
    const { service, reported } = await start(t, { ...config, 'platform.database.username': 'clerk' })
    const add = () => service.execute('update sample_counter set value = value + ? where name = ?', [1, 'first'])
    await root.service.execute('set global read_only = on')
    for (let count = 0; count < 10; count++)
      await rejectsWith(t, add(), { code: 'PLINTH_DATABASE_READ_ONLY', unavailable: true })
    await root.service.execute('set global read_only = off')
    t.equal(await add(), 1)
    t.same(reported(), ['the database takes no writes'])
  },
)

t.test('errors that mean that the database cannot work are distinguished', async (t) => {
  const settings = { type: 'sqlite', file: '/data/shop.sqlite' } as ConnectionSettings
  for (const [code, expected] of [
    ['SQLITE_IOERR_FSYNC', 'PLINTH_DATABASE_DISK'],
    ['SQLITE_CANTOPEN', 'PLINTH_DATABASE_DISK'],
    ['SQLITE_READONLY_DBMOVED', 'PLINTH_DATABASE_READ_ONLY'],
    ['SQLITE_FULL', 'PLINTH_DATABASE_NO_WRITES'],
    ['53400', 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS'],
    ['SQLITE_CONSTRAINT_UNIQUE', undefined],
  ] as const) {
    const found = unavailableErrorOf(settings, Object.assign(new Error('failed'), { code }))
    t.equal(found?.code, expected, code)
    t.equal(found?.unavailable, expected === undefined ? undefined : true)
  }
})
