/** Tests that every wait on the database ends: statements, waits for a connection, and transactions. */
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, manualClock, rejectsWith, startForTest, throwsWith, until } from '@plinth/dev/testing'
import { startHalfOpenProxy } from '@plinth/dev/testing/database'
import { definePlugin, defineProduct, type JsonValue } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import { type Driver, sql } from 'kysely'
import t, { type Test } from 'tap'
import { WaitTimeouts } from '../src/connections/connection-queue.ts'
import { type ConnectionLeaseOptions, LeasingDriver } from '../src/connections/leasing-driver.ts'
import type { DatabaseService } from '../src/database-service.ts'
import { onEachDatabase, serverDialects, type TestDatabase } from './fixtures/databases.ts'
import samplePlugin from './fixtures/sample-plugin.ts'

async function start(
  t: Test,
  db: TestDatabase,
  config: Readonly<Record<string, JsonValue>>,
  options: Parameters<typeof startForTest>[1] = {},
) {
  const plugins = [databasePlugin, samplePlugin]
  const product = defineProduct({ name: 'test', plugins, config: { ...db.config, ...config } })
  const running = await startForTest(product, options)
  t.teardown(() => running.stop('test ended'))
  return running.service(database) as DatabaseService
}

const never = () => new Promise<never>(() => {})

t.test('closing ends and closes all sockets, also if the pool waits for a lost connection', async (t) => {
  let closed = 0
  const rules = { size: 1, reserved: 0, waitMs: 1_000, waits: new WaitTimeouts(), closeSockets: () => (closed += 1) }
  const driver = new LeasingDriver({ destroy: never } as unknown as Driver, rules as unknown as ConnectionLeaseOptions)
  await driver.destroy()
  t.equal(closed, 1)
})

onEachDatabase(t, 'a transaction that never ends is rolled back, and no other work waits for it', async (t, db) => {
  const service = await start(t, db, {
    'platform.database.transaction-timeout': '200ms',
    'platform.database.pool-size': 2,
  })
  const late = { code: 'PLINTH_DATABASE_TRANSACTION_TIMEOUT', fix: String, unavailable: true }
  const count = async () =>
    Number((await service.query<{ n: unknown }>('select count(*) as n from sample_counter'))[0]?.n)
  const add = (id: number) =>
    service.execute('insert into sample_counter (id, name, value) values (?, ?, 0)', [id, 'x'])

  for (let round = 1; round <= 4; round++) {
    await rejectsWith(
      t,
      service.transactional(async () => {
        await add(round)
        await never()
      }),
      { ...late, message: /200 ms/ },
    )
  }
  t.equal(await count(), 2, 'nothing of it is left, and the connection serves others')

  const reports: string[] = []
  const resumed = Promise.withResolvers<void>()
  const report = (name: string, outcome: Promise<unknown>) =>
    outcome.then(
      () => reports.push(`${name} ran`),
      (error: { code?: string }) => reports.push(`${name} ${error.code}`),
    )
  const finished = Promise.withResolvers<void>()
  const work = service.transactional(
    async (em, signal) => {
      await add(10)
      await once(signal, 'abort')
      t.match(signal.reason, late, 'the work is told')
      await resumed.promise
      await report('execute', add(11))
      await report('query', service.query('select 1 as one'))
      await report('reserved', service.reserved.query('select 1 as one'))
      await report(
        'transactional',
        service.transactional(async () => add(12)),
      )
      await report(
        'joined',
        service.transactional(async (inner) => inner.execute('select 1')),
      )
      await t.rejects(em.execute('insert into sample_counter (id, name, value) values (13, ?, 0)', ['x']))
      throwsWith(t, () => service.fork(), late)
      throwsWith(t, () => service.afterCommit(() => {}), late)
      finished.resolve()
    },
    // The timeout is long enough for the first statement, even on a busy host.
    { timeoutMs: 5_000 },
  )
  await rejectsWith(t, work, { ...late, message: /5000 ms/ }, 'a limit of its own')
  const patient = { timeoutMs: 60_000 }
  const other = service.transactional(async () => {
    resumed.resolve()
    await finished.promise
    return add(20)
  }, patient)
  t.equal(await other, 1, 'late statements do not join the transaction of somebody else')
  const code = 'PLINTH_DATABASE_TRANSACTION_TIMEOUT'
  t.same(
    reports,
    ['execute', 'query', 'reserved', 'transactional', 'joined'].map((name) => `${name} ${code}`),
  )
  t.same(
    (await service.query<{ id: unknown }>('select id from sample_counter where name = ?', ['x'])).map(({ id }) =>
      Number(id),
    ),
    [20],
  )

  const stop = new AbortController()
  const reason = new Error('nobody waits for it')
  const lateWrite = Promise.withResolvers<unknown>()
  const abandoned = service.transactional(
    async () => {
      await add(30)
      stop.abort(reason)
      await resumed.promise
      await nextTurn()
      lateWrite.resolve(await add(31).catch((error: unknown) => error))
    },
    { ...patient, signal: stop.signal },
  )
  await rejectsWith(t, abandoned, reason, 'given up by a signal')
  t.equal(await lateWrite.promise, reason)
  await rejectsWith(t, service.transactional(never, { signal: stop.signal }), reason, 'not begun')
  t.equal(await count(), 3, 'two from the beginning and the one that was committed')
  await t.rejects(service.transactional(never, { timeoutMs: 0 }), RangeError)
  await t.rejects(service.transactional(never, { timeoutMs: Number.NaN }), RangeError)
})

const halfOpen = async (t: Test, db: TestDatabase) => {
  const proxy = await startHalfOpenProxy({ port: { postgresql: 5432, mariadb: 3306, sqlite: 0 }[db.dialect] })
  t.teardown(() => proxy.close())
  const service = await start(t, db, {
    'platform.database.port': proxy.port,
    'platform.database.pool-size': 3,
    'platform.database.query-timeout': '3s',
    'platform.database.connect-timeout': '3s',
  })
  const one = () => service.query('select 1 as one')
  const lost = { code: 'PLINTH_DATABASE_QUERY_TIMEOUT', message: /3000 ms/, unavailable: true }
  const entered = Promise.withResolvers<void>()
  const silence = Promise.withResolvers<void>()
  const committing = service.transactional(async () => {
    await service.execute('insert into sample_counter (id, name, value) values (1, ?, 0)', ['x'])
    entered.resolve()
    await silence.promise
  })
  await entered.promise
  // Fills the pool. When the proxy stops responding, all connections of the pool are half open.
  await Promise.all([one(), one(), one(), service.reserved.query('select 1 as one')])
  proxy.fallSilent()
  silence.resolve()
  await rejectsWith(t, committing, lost, 'a commit')
  const roads = {
    query: one(),
    execute: service.execute('update sample_counter set value = 1 where id = ?', [1]),
    'entity manager': service.fork().execute('select 1'),
    begin: service.transactional(one),
    reserved: service.reserved.query('select 1 as one'),
    ping: service.ping(new AbortController().signal),
  }
  const outcomes = await Promise.allSettled(Object.values(roads))
  for (const [index, road] of Object.keys(roads).entries()) {
    t.hasStrict(outcomes[index], { status: 'rejected', reason: { unavailable: true } }, road)
  }
  // Remaining connections of the pool are also half open.
  for (let round = 0; round < 3; round++)
    await rejectsWith(t, one(), { code: /^PLINTH_DATABASE_(QUERY_TIMEOUT|UNREACHABLE)$/ })
  t.equal(service.longestWaitSeconds, 0, 'nothing is waited for any more')
  // The product has destroyed all sockets. The proxy notices this with a delay.
  await until(() => proxy.clients === 0, 'no client is connected', 0)
  proxy.recover()
  for (let round = 0; round < 6; round++) t.same(await one(), [{ one: 1 }], 'it goes on at once')
}
onEachDatabase(
  t,
  'a silent server: each statement fails in time, and its connection is replaced',
  halfOpen,
  serverDialects,
)

/**
 * Returns the results of the health check while statements wait on broken connections. The pool has three connections.
 */
const pingsWhile = async (t: Test, db: TestDatabase, broken: number) => {
  const port = { postgresql: 5432, mariadb: 3306, sqlite: 0 }[db.dialect]
  const proxy = await startHalfOpenProxy({ port })
  t.teardown(() => proxy.close())
  const service = await start(t, db, {
    'platform.database.host': proxy.host,
    'platform.database.port': proxy.port,
    'platform.database.pool-size': 3,
    'platform.database.query-timeout': '3s',
  })
  const ping = () => service.ping(new AbortController().signal)
  await ping()
  const lost = Promise.withResolvers<void>()
  let begun = 0
  const allBegun = Promise.withResolvers<void>()
  const work = Array.from({ length: 3 }, () =>
    service.transactional(async (em) => {
      await em.execute('select 1')
      begun += 1
      if (begun === 3) allBegun.resolve()
      await lost.promise
      await em.execute('select 1')
    }),
  )
  await allBegun.promise
  proxy.loseNewest(broken)
  lost.resolve()
  const pings: boolean[] = []
  let isWaiting = true
  const ended = Promise.allSettled(work).finally(() => {
    isWaiting = false
  })
  while (isWaiting) {
    const isHealthy = await ping().then(
      () => true,
      () => false,
    )
    if (isWaiting) pings.push(isHealthy)
  }
  const failed = (await ended).filter(({ status }) => status === 'rejected').length
  return { failed, pings, ping }
}
const brokenPool = async (t: Test, db: TestDatabase) => {
  const { failed, pings, ping } = await pingsWhile(t, db, 3)
  t.equal(failed, 3)
  t.equal(pings.at(-1), false, 'not ready while no statement ends, though a new connection works')
  await ping()
  t.pass('ready again when the broken connections are replaced')
}
onEachDatabase(t, 'a pool whose connections are all half open is not healthy', brokenPool, serverDialects)

const brokenConnection = async (t: Test, db: TestDatabase) => {
  const { failed, pings, ping } = await pingsWhile(t, db, 1)
  t.equal(failed, 1)
  t.ok(pings.length > 0)
  t.notOk(pings.includes(false), 'ready the whole time')
  await ping()
}
onEachDatabase(t, 'a pool with one half-open connection stays healthy', brokenConnection, serverDialects)

onEachDatabase(
  t,
  'a request for a connection succeeds in time or fails; reserved statements come first',
  async (t, db) => {
    const service = await start(t, db, {
      'platform.database.connect-timeout': '5s',
      'platform.database.pool-size': 2,
    })
    const end = Promise.withResolvers<void>()
    const hold = async () => {
      const begun = Promise.withResolvers<void>()
      const held = service.transactional(async () => {
        begun.resolve()
        await end.promise
      })
      await begun.promise
      return () => held
    }
    const size = db.dialect === 'sqlite' ? 1 : 2
    const holders = await Promise.all(Array.from({ length: size }, hold))
    const behind = rejectsWith(t, service.execute('update sample_counter set value = 5'), {
      code: 'PLINTH_DATABASE_POOL_TIMEOUT',
      message: new RegExp(`5000 ms. All ${size} connections`),
      unavailable: true,
    })
    if (db.dialect !== 'sqlite') {
      const rows = await Promise.all(Array.from({ length: 5 }, () => service.reserved.query('select 1 as one')))
      t.equal(rows.length, 5, 'beside a pool that is used up')
    }
    await behind

    const order: string[] = []
    const note = (name: string, response: Promise<unknown>) => response.then(() => order.push(name))
    const rename = 'update sample_counter set name = ? where id = ?'
    const waiting = [
      note('ordinary', service.execute(rename, ['a', 1])),
      note('reserved', service.reserved.execute(rename, ['a', 2])),
      note('reserved', service.reserved.execute(rename, ['a', 2])),
    ]
    end.resolve()
    await Promise.all([...holders.map((held) => held()), ...waiting])
    // On a database server the statements use separate connections, so their order is not defined.
    if (db.dialect === 'sqlite') t.same(order, ['reserved', 'reserved', 'ordinary'])
  },
)

onEachDatabase(t, 'an instance without a free connection for ten seconds is not healthy', async (t, db) => {
  const clock = manualClock()
  const config = { 'platform.database.connect-timeout': '2s', 'platform.database.pool-size': 2 }
  const service = await start(t, db, config, { clock })
  const ping = () => service.ping(new AbortController().signal)
  const end = Promise.withResolvers<void>()
  const hold = async () => {
    const begun = Promise.withResolvers<void>()
    const held = service.transactional(async () => {
      begun.resolve()
      await end.promise
    })
    await begun.promise
    return () => held
  }
  const holders = await Promise.all(Array.from({ length: db.dialect === 'sqlite' ? 1 : 2 }, hold))
  const exhausted = { code: 'PLINTH_DATABASE_POOL_TIMEOUT' }
  for (let second = 0; second <= 10; second += 5) {
    if (second > 0) await clock.advance(5_000)
    await rejectsWith(t, service.execute('update sample_counter set value = 5'), exhausted)
    // SQLite has only one connection, so its health check waits too.
    if (second < 10 && db.dialect !== 'sqlite') await ping()
  }
  await rejectsWith(t, ping(), exhausted)
  end.resolve()
  await Promise.all(holders.map((held) => held()))
  await ping()
  t.pass('healthy again as soon as a connection is free')
})

const failedTransaction = async (t: Test, db: TestDatabase) => {
  const service = await start(t, db, { 'platform.database.connect-timeout': '5s' })
  const fail = () => Promise.reject(new Error('no'))
  for (const failing of [() => service.transactional(fail), () => service.statements(fail)]) {
    await rejectsWith(t, failing(), { message: /no/ })
    t.same(await service.query('select 1 as one'), [{ one: 1 }])
  }
}
// SQLite has only one connection.
onEachDatabase(t, 'a transaction that fails gives its connection back', failedTransaction, ['sqlite'])

const serverLimits = async (t: Test, db: TestDatabase) => {
  const limits = {
    postgresql: `select current_setting('statement_timeout') as statement, current_setting('idle_in_transaction_session_timeout') as idle`,
    mariadb: 'select @@session.max_statement_time as statement, @@session.idle_transaction_timeout as idle',
    sqlite: '',
  }[db.dialect]
  const seen: object[] = []
  const look = definePlugin({
    id: 'look',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { database },
    migrations: [
      defineChangeSet({
        id: '0001-look',
        data: async ({ db: within }) => void seen.push(...(await sql<object>`${sql.raw(limits)}`.execute(within)).rows),
      }),
    ],
  })
  const config = {
    ...db.config,
    'platform.database.query-timeout': '10s',
    'platform.database.transaction-timeout': '20s',
    'platform.database.pool-size': 2,
  }
  const running = await startForTest(defineProduct({ name: 'test', plugins: [databasePlugin, look], config }))
  t.teardown(() => running.stop('test ended'))
  const service = running.service(database)
  const [lifted, usual] = {
    postgresql: [{ statement: '0' }, { statement: '15s', idle: '25s' }],
    mariadb: [{ statement: 0 }, { statement: /^15/, idle: /^25$/ }],
    sqlite: [{}, {}],
  }[db.dialect]
  assertMembers(t, seen, [lifted], 'a migration has no limit')
  const all = await Promise.all(Array.from({ length: 4 }, () => service.query(limits)))
  for (const [row] of all) t.match(row, usual, 'the server ends what nobody waits for')
}
onEachDatabase(t, 'a server session has limits, except in migrations', serverLimits, serverDialects)

onEachDatabase(
  t,
  'a migration may take longer than a statement',
  async (t, db) => {
    const slow = { postgresql: 'select pg_sleep(5)', mariadb: 'select sleep(5)', sqlite: 'select 1' }[db.dialect]
    const change = defineChangeSet({
      id: '0001-slow',
      data: async ({ db: within }) => void (await sql.raw(slow).execute(within)),
    })
    const plugin = definePlugin({
      id: 'slow',
      version: '1.0.0',
      kernel: '^1.0.0',
      requires: { database },
      migrations: [change],
    })
    const config = { ...db.config, 'platform.database.query-timeout': '4s' }
    const running = await startForTest(defineProduct({ name: 'test', plugins: [databasePlugin, plugin], config }))
    t.teardown(() => running.stop('test ended'))
    assertMembers(t, await running.service(database).migrationStatus(), { pending: [] })
    await rejectsWith(
      t,
      running.service(database).query(slow),
      { code: 'PLINTH_DATABASE_QUERY_TIMEOUT' },
      'others may not',
    )
  },
  serverDialects,
)
