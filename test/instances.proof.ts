import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import databasePlugin, { type Database, database } from '@plinth/database'
import { startForTest, until } from '@plinth/dev/testing'
import { createDatabase, everyDialect, onEachDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis, skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import { defineProduct, type JsonValue } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { type ProductProcess, startProcess } from './fixtures/product-process.ts'

const product = join(import.meta.dirname, 'fixtures', 'instances.config.ts')
const quota = 300
const clients = 8
/**
 * Pause in ms of a client of the limiter after each response. It gives enough load, but leaves capacity for the
 * instances on a small host.
 */
const hitRestMs = 10
/**
 * Pause in ms of a client that publishes events. Events must be published continuously, but their number does not
 * matter.
 */
const publishRestMs = 100

/** Starts two instances with short leases. */
async function startTwo(t: Test, db: TestDatabase, more: Readonly<Record<string, JsonValue>>) {
  const config = {
    ...db.config,
    // The leases are longer than the pauses of a database on a busy host.
    'platform.scheduler.lease': '8s',
    'platform.events.dispatcher.lease': '3s',
    'platform.system-config.master-key-file': join(db.directory, 'master.key'),
    ...more,
  }
  const settings = Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)]))
  const processes = await Promise.all([startProcess(t, product, settings), startProcess(t, product, settings)])
  return processes
}

/** Opens the database of the instances, so that the test can read it. */
async function look(t: Test, db: TestDatabase): Promise<Database> {
  const config = { ...db.config, 'platform.database.migrate-at-start': false }
  const running = await startForTest(defineProduct({ name: 'look', plugins: [databasePlugin], config }), {
    roles: ['cli'],
  })
  t.teardown(() => running.stop('test ended'))
  return running.service(database)
}

/**
 * Calls all instances from many clients until it is stopped, and counts response codes. Calls without a response are
 * not counted.
 * @param restMs pause of a client after each response, in ms
 */
function load(urls: readonly string[], path: (call: number) => string, many: number, restMs = 0) {
  const codes: Record<string, number> = {}
  const denied = new Set<number>()
  let calls = 0
  let isEnough = false
  const client = async (url: string, who: number) => {
    while (!isEnough) {
      calls += 1
      try {
        const response = await fetch(`${url}${path(calls)}`, { method: 'POST' })
        const { code } = (await response.json()) as { code: string }
        codes[code] = (codes[code] ?? 0) + 1
        if (code === '429') denied.add(who)
        if (restMs > 0) await pause(restMs)
      } catch {
        await pause(10)
      }
    }
  }
  const running = Promise.all(Array.from({ length: many }, (_, n) => client(urls[n % urls.length] ?? '', n)))
  return {
    codes,
    /** Clients whose calls were denied. Responses to all their earlier calls have arrived. */
    denied,
    async stop() {
      isEnough = true
      await running
    },
  }
}

const comes = (what: string, isTrue: () => boolean | Promise<boolean>) => until(isTrue, what, 50)

const number = async (db: Database, sql: string) => Number((await db.query<{ n: number | string }>(sql))[0]?.n)

/** Checks that no event is lost or out of order, and that a task never runs twice at the same time. */
async function allIsWell(t: Test, db: Database) {
  await comes('every committed event has been handled', async () => {
    const open = `select count(*) as n from outbox_event where status <> 'delivered'`
    return (await number(db, open)) === 0
  })
  const sent = await db.query<{ subject: string; n: number }>(
    'select subject, max(position) as n from probe_sent group by subject order by subject',
  )
  for (const { subject, n } of sent) {
    const rows = await db.query<{ position: number }>(
      'select position from probe_received where subject = ? order by turn, id',
      [subject],
    )
    const firsts = [...new Set(rows.map(({ position }) => Number(position)))]
    t.same(
      firsts,
      Array.from({ length: Number(n) }, (_, index) => index + 1),
      `every event of ${subject} arrived, in order`,
    )
  }
  t.ok((await number(db, 'select count(*) as n from probe_run')) > 0, 'the task ran')
  t.equal(await number(db, 'select count(*) as n from probe_run where overlapped > 0'), 0, 'never two runs at one time')
}

/** Runs two instances under load and kills one of them. The other instance must take over its work. */
async function survivesKill(t: Test, db: TestDatabase, config: Readonly<Record<string, JsonValue>>) {
  const [one, two] = (await startTwo(t, db, config)) as [ProductProcess, ProductProcess]
  const urls = [one.url, two.url]
  const seen = await look(t, db)

  const hits = load(urls, () => '/api/v1/probe/hits', clients, hitRestMs)
  const publishing = load(urls, (call) => `/api/v1/probe/events/subject-${call % 4}`, 4, publishRestMs)
  await comes('both work', async () => (publishing.codes['200'] ?? 0) >= 20 && (hits.codes['200'] ?? 0) >= 50)
  const runsOf = (process_: number | undefined) =>
    number(seen, `select count(*) as n from probe_run where process = ${process_}`)
  one.child.kill('SIGKILL')
  await one.ended()
  const before = publishing.codes['200'] ?? 0
  await comes('the other goes on', () => (publishing.codes['200'] ?? 0) >= before + 20)
  await comes('the quota is used up', () => (hits.codes['429'] ?? 0) >= 100)
  await hits.stop()
  const runs = await runsOf(two.child.pid)
  await comes('the task runs on the other', async () => (await runsOf(two.child.pid)) > runs)
  await publishing.stop()

  const { 200: admitted = 0, 503: unknown = 0 } = hits.codes
  t.ok(admitted <= quota, `no more than the quota was admitted: ${JSON.stringify(hits.codes)}`)
  t.ok(admitted + unknown >= quota - clients, 'and no less, but for what was on its way to the one that died')
  await allIsWell(t, seen)
  two.child.kill('SIGTERM')
  t.same(await two.ended(), [0, null], 'the survivor drains and ends well')
}

onEachDatabase(t, 'K-018 R-001 two instances, one killed under load, with the database only', (t, db) =>
  survivesKill(t, db, {}),
)

for (const { dialect, skip } of everyDialect.filter((entry) => entry.dialect !== 'sqlite')) {
  t.test(
    `K-018 R-001 two instances, one killed under load, on ${dialect} and Redis`,
    { skip: skip || skipRedis },
    async (t) => {
      const db = await createDatabase(dialect)
      t.teardown(() => db.drop())
      const redis = createRedisNamespace()
      t.teardown(() => redis.drop())
      await survivesKill(t, db, { ...redis.config, 'platform.scheduler.engine': 'bullmq' })
    },
  )

  t.test(
    `R-001 Redis is frozen, killed and started again empty under load, on ${dialect}`,
    { skip: skip || skipWithoutRedisProgram },
    async (t) => {
      const server = await startRedis()
      t.teardown(() => server.drop())
      const db = await createDatabase(dialect)
      t.teardown(() => db.drop())
      const config = { ...server.config, 'platform.cache.command-timeout': '1s' }
      const [one, two] = (await startTwo(t, db, config)) as [ProductProcess, ProductProcess]
      const urls = [one.url, two.url]
      const seen = await look(t, db)

      const hits = load(urls, () => '/api/v1/probe/hits', clients, hitRestMs)
      const publishing = load(urls, (call) => `/api/v1/probe/events/subject-${call % 4}`, 4, publishRestMs)
      const answered = (code: string, more: number) => {
        const goal = (hits.codes[code] ?? 0) + more
        return comes(`${more} more answers ${code}`, () => (hits.codes[code] ?? 0) >= goal)
      }
      await answered('429', 20)
      // A denial may arrive before the response to an earlier call of the same client that was allowed.
      await comes('every client is denied', () => hits.denied.size === clients)
      const { 200: admitted = 0 } = hits.codes
      t.ok(admitted <= quota, `the quota and no more: ${JSON.stringify(hits.codes)}`)
      server.freeze()
      await answered('503', 20)
      t.equal(hits.codes['200'], admitted, 'nothing is let through while the store does not answer')
      server.thaw()
      await answered('429', 20)
      t.equal(hits.codes['200'], admitted, 'the count has survived the pause')
      await server.kill()
      await answered('503', 20)
      await server.start()
      await answered('429', 20)
      await Promise.all([hits.stop(), publishing.stop()])
      // A store that was restarted has lost its counts and starts a new window, unless an instance still remembers the
      // denial.
      t.ok((hits.codes['200'] ?? 0) <= 2 * quota, `no more than two windows: ${JSON.stringify(hits.codes)}`)
      await allIsWell(t, seen)
      for (const { child, ended, output } of [one, two]) {
        child.kill('SIGTERM')
        const end = await ended()
        t.same(end, [0, null], end[0] === 0 ? 'it ends well' : `it ends well, and not so:\n${output().slice(-4_000)}`)
      }
    },
  )
}
