/** Tests the product with a real pgbouncer in transaction mode in front of PostgreSQL. */
import { createServer, connect as openSocket, type Socket } from 'node:net'
import { database } from '@plinth/database'
import { assertMembers, rejectsWith, startForTest, until } from '@plinth/dev/testing'
import {
  type PgbouncerOptions,
  type StartedServer,
  skipPgbouncer,
  skipWithoutMariadbPrograms,
  startMariadb,
  startPgbouncer,
} from '@plinth/dev/testing/database'
import { healthCheck, type JsonValue } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { DatabaseService } from '../src/database-service.ts'
import { createDatabase, dialectSkip, productOn, type TestDatabase } from './fixtures/databases.ts'
import samplePlugin from './fixtures/sample-plugin.ts'

const options = { skip: skipPgbouncer, timeout: 600_000 }
const needsPostgres = { skip: dialectSkip('postgresql'), timeout: 600_000 }

/** Starts a product that connects to the database at another port, and records its log lines. */
async function startAt(
  t: Test,
  db: Pick<TestDatabase, 'config'>,
  port: number,
  config: Readonly<Record<string, JsonValue>> = {},
) {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const product = productOn(db, samplePlugin)
  const running = await startForTest(
    { ...product, config: { ...product.config, 'platform.database.port': port, ...config } },
    { logger },
  )
  t.teardown(() => running.stop('test ended'))
  const check = running.contributions(healthCheck).get('database')
  const warnings = async () => Object(await check?.(new AbortController().signal)).warnings as string[]
  const reported = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => /statements are prepared/.test(msg))
  return { service: running.service(database) as DatabaseService, warnings, reported }
}

async function emptyDatabase(t: Test): Promise<TestDatabase> {
  const db = await createDatabase('postgresql')
  t.teardown(() => db.drop())
  return db
}

async function pooler(t: Test, settings: PgbouncerOptions): Promise<StartedServer> {
  const server = await startPgbouncer(settings)
  t.teardown(() => server.drop())
  return server
}

const onlyLimits = `select name, setting, source from pg_settings where name in ('statement_timeout', 'idle_in_transaction_session_timeout')`

t.test('two instances behind a pooler execute only their own statements', { ...options }, async (t) => {
  const db = await emptyDatabase(t)
  const { port } = await pooler(t, { poolSize: 3 })
  const one = await startAt(t, db, port)
  const two = await startAt(t, db, port)
  await one.service.execute(
    'create table pooled (id integer primary key, credit integer not null, debit integer not null)',
  )
  await one.service.execute('insert into pooled values (1, 0, 0)')
  const done = { credit: 0, debit: 0 }
  const repeat = async (service: DatabaseService, column: 'credit' | 'debit') => {
    for (let count = 0; count < 100; count++) {
      await service.execute(`update pooled set ${column} = ${column} + ? where id = ?`, [1, 1])
      done[column] += 1
    }
  }
  const callers = [1, 2, 3, 4].flatMap(() => [repeat(one.service, 'credit'), repeat(two.service, 'debit')])
  const failures = (await Promise.allSettled(callers)).filter(({ status }) => status === 'rejected')
  t.same(failures, [], 'no statement fails')
  t.same(await two.service.query('select credit, debit from pooled'), [done], 'the sums are exact')
  for (const { reported, warnings } of [one, two]) {
    assertMembers(t, reported(), [{ level: 40, msg: /^A connection pooler is between/ }])
    t.equal(reported().length, 1, 'the log contains it once')
    assertMembers(t, await warnings(), [/^A connection pooler is between/], 'so does the health check')
  }
  t.same(
    await one.service.query(`select name from pg_prepared_statements where name like 'plinth%'`),
    [],
    'the shared sessions keep no statement',
  )
})

t.test('no instance leaves settings in the sessions of a pooler', { ...options }, async (t) => {
  const db = await emptyDatabase(t)
  // The pooler has only one session, so all instances share it.
  const { port } = await pooler(t, { poolSize: 1 })
  const one = await startAt(t, db, port)
  const two = await startAt(t, db, port)
  for (const { service } of [one, two]) {
    for (const row of await service.query(onlyLimits)) t.match(row, { setting: '0', source: 'default' })
  }
})

t.test('with prepared statements disabled, a pooler is neither detected nor reported', { ...options }, async (t) => {
  const db = await emptyDatabase(t)
  const { port } = await pooler(t, { poolSize: 1 })
  const { service, warnings, reported } = await startAt(t, db, port, { 'platform.database.prepared-statements': false })
  t.equal(await service.execute('update sample_counter set value = value + ? where name = ?', [1, 'first']), 1)
  t.same(await warnings(), [])
  t.same(reported(), [])
})

t.test('without a pooler, sessions have limits and statements have names', needsPostgres, async (t) => {
  const db = await emptyDatabase(t)
  const { service, warnings, reported } = await startAt(t, db, 5432)
  await service.transactional(async () => {
    await service.execute('update sample_counter set value = value + ? where name = ?', [1, 'first'])
    assertMembers(t, await service.query('select name from pg_prepared_statements'), [
      { name: /^plinth_[0-9a-f]{40}$/ },
    ])
    for (const row of await service.query(onlyLimits)) t.match(row, { setting: /^\d{4,}$/, source: 'session' })
  })
  t.same(await warnings(), [])
  t.same(reported(), [])
})

t.test('a pooler that appears later is detected without a restart', { ...options }, async (t) => {
  const db = await emptyDatabase(t)
  const { port: poolerPort } = await pooler(t, { poolSize: 2 })
  const way = await switchableProxy(t, 5432)
  const { service, warnings, reported } = await startAt(t, db, way.port)
  const add = () => service.execute('update sample_counter set value = value + ? where name = ?', [1, 'first'])
  for (let count = 0; count < 5; count++) await add()
  t.same(await warnings(), [])
  way.leadTo(poolerPort)
  // A statement that was running when its connection was closed fails, so it is repeated.
  await until(() => add().catch(() => 0), 'a statement runs')
  assertMembers(t, await warnings(), [/^A connection pooler is between/])
  await Promise.all(Array.from({ length: 20 }, add))
  t.equal(reported().length, 1)
})

/**
 * Starts a proxy whose target can be changed. A change closes open connections. New connections go to the new target.
 */
async function switchableProxy(t: Test, target: number) {
  let current = target
  const open = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = openSocket({ host: '127.0.0.1', port: current })
    for (const [from, to] of [[client, server] as const, [server, client] as const]) {
      open.add(from)
      from.on('error', () => {})
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    proxy.close()
  })
  return {
    port: (proxy.address() as { readonly port: number }).port,
    leadTo(port: number) {
      current = port
      for (const socket of open) socket.destroy()
      open.clear()
    },
  }
}

const add = 'update sample_counter set value = value + ? where name = ?'

/**
 * Ways in which a session of a pooler may differ from the session that the product expects. The pooler forwards process
 * numbers, so the product notices it only at the next statement.
 */
const foreignSessions = [
  { code: '26000', title: 'a session that forgot a statement', change: () => ['deallocate all'] },
  {
    code: '42P05',
    title: 'a session that another client prepared',
    change: (name: string) => [`prepare ${name} as select 1`],
    isFirst: true,
  },
  {
    code: '08P01',
    title: 'a session with another statement of the same name',
    change: (name: string) => [`deallocate ${name}`, `prepare ${name} as select $1::int, $2::int, $3::int`],
  },
]

for (const { code, title, change, isFirst = false } of foreignSessions) {
  t.test(`${title} (${code}) disables prepared statements and repeats the statement`, needsPostgres, async (t) => {
    for (const way of ['a transaction', 'a statement'] as const) {
      const db = await emptyDatabase(t)
      const { service, warnings, reported } = await startAt(t, db, 5432)
      const other = await startAt(t, db, 5432)
      const name = await other.service.transactional(async () => {
        await other.service.execute(add, [0, 'first'])
        const [row] = await other.service.query<{ name: string }>('select name from pg_prepared_statements')
        return String(row?.name)
      })
      if (!isFirst) await service.execute(add, [0, 'first'])
      let attempts = 0
      await (way === 'a statement'
        ? (async () => {
            for (const text of change(name)) await service.execute(text)
            await service.execute(add, [5, 'first'])
          })()
        : service.transactional(async () => {
            attempts += 1
            if (attempts === 1) for (const text of change(name)) await service.execute(text)
            await service.execute(add, [5, 'first'])
          }))
      const [row] = await service.query<{ value: unknown }>('select value from sample_counter where name = ?', [
        'first',
      ])
      t.equal(Number(row?.value), 6, `${way} takes effect once`)
      if (way === 'a transaction') t.equal(attempts, 2, 'the whole work was repeated')
      t.equal(reported().length, 1)
      t.equal((await warnings()).length, 1)
    }
  })
}

t.test('a part of a transaction that cannot be repeated alone is unavailable', needsPostgres, async (t) => {
  const db = await emptyDatabase(t)
  const { service } = await startAt(t, db, 5432)
  await service.execute(add, [0, 'first'])
  await rejectsWith(
    t,
    service.fork().transactional(async () => {
      await service.execute('deallocate all')
      await service.execute(add, [5, 'first'])
    }),
    { code: 'PLINTH_DATABASE_NOT_PREPARED', unavailable: true, message: /was not executed/ },
  )
  t.equal(await service.execute(add, [5, 'first']), 1, 'the next statement is not prepared')
})

t.test(
  'if the server discards prepared statements, statements run unprepared',
  { skip: skipWithoutMariadbPrograms, timeout: 600_000 },
  async (t) => {
    const server = await startMariadb({ 'max-prepared-stmt-count': 3 })
    t.teardown(() => server.drop())
    const db = {
      config: { 'platform.database.type': 'mariadb', 'platform.database.username': 'root' },
    }
    const { service, warnings, reported } = await startAt(t, db, server.port)
    const texts = Array.from(
      { length: 6 },
      (_, index) => `update sample_counter set value = value + ?, id = id where name = ? and ${index} = ${index}`,
    )
    for (const text of texts) t.equal(await service.execute(text, [1, 'first']), 1)
    const [row] = await service.query<{ value: unknown }>('select value from sample_counter where name = ?', ['first'])
    t.equal(Number(row?.value), 7, 'each takes effect once')
    assertMembers(t, reported(), [
      { level: 40, msg: /^The database server, or a proxy before it, did not keep a prepared statement/ },
    ])
    t.equal(reported().length, 1)
    t.equal((await warnings()).length, 1)
  },
)
