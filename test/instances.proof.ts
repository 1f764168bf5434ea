import { createDatabase, everyDialect, onEachDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis, skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import type { JsonValue } from '@plinth/kernel'
import t, { type Test } from 'tap'
import {
  allIsWell,
  clients,
  comes,
  hitRestMs,
  load,
  look,
  number,
  publishRestMs,
  quota,
  startTwo,
} from './fixtures/instances-load.ts'
import type { ProductProcess } from './fixtures/product-process.ts'

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
