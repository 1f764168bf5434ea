/**
 * Tests two instances of a product on sentinels and on a Redis Cluster, with the queues of BullMQ, limits, messages and
 * events under load, while Redis fails. No row of the database may be lost, doubled or stuck.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '@plinth/database'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import { skipWithoutRedisProgram } from '@plinth/dev/testing/shared-store'
import type { JsonValue } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { send, startCluster, startSentinels } from '../plugins/shared-store/test/fixtures/redis-servers.ts'
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

/** Pause in ms of a client that queues background tasks. */
const taskRestMs = 100

const engines = {
  'platform.scheduler.engine': 'bullmq',
  'platform.async-task.engine': 'bullmq',
  'platform.async-task.lease': '8s',
  'platform.async-task.queue.per-owner': 100_000,
  'platform.async-task.queue.capacity': 100_000,
  'platform.cache.command-timeout': '1s',
  'platform.cache.connect-timeout': '2s',
} as const

interface Fault {
  readonly name: string
  readonly happen: () => Promise<unknown>
}

/** Checks that each queued task has run exactly once. */
async function assertTasksRan(t: Test, db: Database) {
  const open = `select count(*) as n from async_task where type = 'probe.work' and status <> 'succeeded'`
  await comes('every queued task has succeeded', async () => (await number(db, open)) === 0)
  const queued = await number(db, `select count(*) as n from async_task where type = 'probe.work'`)
  const ran = await number(db, 'select count(*) as n from probe_work')
  const distinct = await number(db, 'select count(distinct task_id) as n from probe_work')
  t.ok(queued > 0)
  t.same({ ran, distinct }, { ran: queued, distinct: queued }, 'each task ran once')
  return queued
}

/** Runs two instances under load through all faults, one after the other. */
async function survives(t: Test, config: Readonly<Record<string, JsonValue>>, faults: readonly Fault[]) {
  const [entry] = everyDialect.filter(({ dialect, skip }) => dialect === 'postgresql' && skip === false)
  const db = await createDatabase(entry?.dialect ?? 'sqlite')
  t.teardown(() => db.drop())
  const [one, two] = (await startTwo(t, db, { ...config, ...engines })) as [ProductProcess, ProductProcess]
  const urls = [one.url, two.url]
  const seen = await look(t, db)
  const events = 'select count(*) as n from probe_sent'
  const tasks = `select count(*) as n from async_task where type = 'probe.work'`
  const runs = 'select count(*) as n from probe_run'
  const counts = async () => [await number(seen, events), await number(seen, tasks), await number(seen, runs)] as const

  const hits = load(urls, () => '/api/v1/probe/hits', clients, hitRestMs)
  const publishing = load(urls, (call) => `/api/v1/probe/events/subject-${call % 4}`, 4, publishRestMs)
  const queueing = load(urls, () => '/api/v1/probe/tasks', 2, taskRestMs)
  const works = async (what: string, before = { publishing: 0, queueing: 0, hits: 0 }) =>
    comes(what, () => {
      const { 200: allowed = 0, 429: denied = 0 } = hits.codes
      return (
        (publishing.codes['200'] ?? 0) >= before.publishing + 20 &&
        (queueing.codes['200'] ?? 0) >= before.queueing + 10 &&
        allowed + denied >= before.hits + 50
      )
    })
  const now = () => ({
    publishing: publishing.codes['200'] ?? 0,
    queueing: queueing.codes['200'] ?? 0,
    hits: (hits.codes['200'] ?? 0) + (hits.codes['429'] ?? 0),
  })
  await works('both instances work')
  // The first event of a subject may fail, because both instances insert the subject.
  const early = { ...publishing.codes }
  const rows: string[] = []
  for (const { name, happen } of faults) {
    const [beforeEvents, beforeTasks, beforeRuns] = await counts()
    const { 503: unavailable = 0 } = hits.codes
    const begin = performance.now()
    await happen()
    await works(`everything works after: ${name}`, now())
    await comes(`the scheduled task runs after: ${name}`, async () => (await number(seen, runs)) > beforeRuns)
    const late = `select count(*) as n from outbox_event where status <> 'delivered'`
    await comes(`the outbox is empty now and then after: ${name}`, async () => (await number(seen, late)) <= 10)
    const [nextEvents, nextTasks, nextRuns] = await counts()
    rows.push(
      `${name}: ${((performance.now() - begin) / 1000).toFixed(1)} s; events ${nextEvents - beforeEvents}, tasks ${nextTasks - beforeTasks}, ` +
        `runs ${nextRuns - beforeRuns}; limited calls answered 503: ${(hits.codes['503'] ?? 0) - unavailable}`,
    )
  }
  await Promise.all([hits.stop(), publishing.stop(), queueing.stop()])
  await allIsWell(t, seen)
  const queued = await assertTasksRan(t, seen)
  // A failure may lose the counts, so a new window begins.
  t.ok((hits.codes['200'] ?? 0) <= quota * (faults.length + 1), 'no failure admits more than another whole limit')
  for (const row of rows) t.comment(row)
  t.comment(
    `tries / held: events ${await number(seen, events)} / all in order; tasks ${queued} / all once; ` +
      `scheduled runs ${await number(seen, runs)} / none at the same time; admitted by the limit of ${quota}: ${hits.codes['200'] ?? 0}`,
  )
  const failed = Object.entries(publishing.codes).filter(([code, n]) => code !== '200' && n > (early[code] ?? 0))
  t.same(failed, [], 'no call that only needs the database has failed')
  t.same(Object.keys(queueing.codes), ['200'], 'no task was rejected')
  for (const { child, ended, output } of [one, two]) {
    child.kill('SIGTERM')
    const end = await ended()
    t.same(end, [0, null], end[0] === 0 ? 'it ends well' : `it ends well, and not so:\n${output().slice(-4_000)}`)
    t.notMatch(output(), /CROSSSLOT/)
  }
}

const options = { skip: skipWithoutRedisProgram, timeout: 600_000 }

t.test('R-001 two instances on sentinels', { ...options }, async (t) => {
  const sentinels = await startSentinels()
  t.teardown(() => sentinels.drop())
  await survives(t, sentinels.config, [
    { name: 'failover', happen: () => sentinels.failover() },
    {
      name: 'primary frozen for 8 s',
      async happen() {
        const primary = await sentinels.primary()
        primary.freeze()
        await pause(8000)
        primary.thaw()
      },
    },
    {
      name: 'all sentinels gone for 5 s',
      async happen() {
        await Promise.all(sentinels.sentinels.map(({ kill }) => kill()))
        await pause(5000)
        await Promise.all(sentinels.sentinels.map(({ start }) => start()))
      },
    },
    { name: 'FLUSHALL', happen: async () => send((await sentinels.primary()).port, ['flushall']) },
  ])
})

t.test('R-001 two instances on a Redis Cluster', { ...options }, async (t) => {
  const cluster = await startCluster()
  t.teardown(() => cluster.drop())
  const queueOwner = () => cluster.primaryOf('{plinth}')
  await survives(t, cluster.config, [
    {
      name: 'reshard of 1,000 slots',
      async happen() {
        const from = await queueOwner()
        const target = cluster.nodes.find((node) => node !== from && node !== cluster.replica)
        await cluster.reshard(from, target as typeof from, 1000)
      },
    },
    {
      name: 'a primary frozen for 8 s',
      async happen() {
        const owner = await queueOwner()
        owner.freeze()
        await pause(8000)
        owner.thaw()
      },
    },
    {
      name: 'a primary killed for 5 s',
      async happen() {
        const owner = await queueOwner()
        await owner.kill()
        await pause(5000)
        await owner.start()
      },
    },
    { name: 'FLUSHALL', happen: () => cluster.clear() },
  ])
})
