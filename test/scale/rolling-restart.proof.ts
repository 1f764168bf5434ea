/**
 * Restarts two instances on PostgreSQL and Redis in turn, behind the proxies of `deploy/`, while clients read, write,
 * upload, queue tasks, publish events and listen on WebSockets. With SIGTERM, no client may notice a failed request.
 * With SIGKILL, clients that repeat requests as documented must lose nothing.
 */

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '@plinth/database'
import { freePort } from '@plinth/dev/testing'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import t, { type Test } from 'tap'
import { proxies, startProxy } from '../deploy/behind-proxy.ts'
import { allIsWell, comes, look, number } from '../fixtures/instances-load.ts'
import { administrator, authorize, type ProductProcess, runProgram, startProcess } from '../fixtures/product-process.ts'
import { kinds, type Load, startLoad } from './rolling-load.ts'

const product = join(import.meta.dirname, '../fixtures/instances.config.ts')
const rounds = 3

/** Returns the settings of both instances, as in `deploy/compose.cluster.yaml`. */
async function settingsFor(t: Test, drainDelay: string) {
  const db = await createDatabase('postgresql')
  t.teardown(() => db.drop())
  const redis = createRedisNamespace()
  t.teardown(() => redis.drop())
  const config = {
    ...db.config,
    ...redis.config,
    'platform.storage.root': join(db.directory, 'storage'),
    'platform.system-config.master-key-file': join(db.directory, 'master.key'),
    'platform.rate-limit.enabled': false,
    'platform.rate-limit.annotation.client-ip.trusted-proxies': '["127.0.0.1"]',
    'platform.rate-limit.annotation.client-ip.headers': '["X-Forwarded-For"]',
    // The files are read at the end of the test.
    'platform.storage.signed-url.lifetime': '1d',
    'platform.storage.uploads.max-user-bytes': '100GiB',
    'platform.storage.uploads.max-total-bytes': '100GiB',
    'platform.scheduler.engine': 'bullmq',
    'platform.scheduler.lease': '8s',
    'platform.async-task.engine': 'bullmq',
    'platform.async-task.lease': '8s',
    'platform.async-task.queue.per-owner': 100_000,
    'platform.async-task.queue.capacity': 100_000,
    'platform.async-task.concurrency': 8,
    'platform.http.drain-delay': drainDelay,
    'platform.kernel.drain-deadline': '30s',
  }
  const settings = Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)]))
  const set = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])
  const create = ['admin', 'create', '--username', administrator.username, '--password-stdin']
  for (const words of [['migrate'], create])
    t.match(await runProgram([...words, '--product', product, ...set], administrator.password), { code: 0 })
  return { db, settings }
}

/** Returns how many requests an instance has served, according to its metrics. */
async function servedBy(url: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text()
  const sends =
    /^http_request_duration_seconds_count\{method="POST",route="\/api\/v1\/notifications\/send".*\} (\d+)$/gm
  return [...page.matchAll(sends)].reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Checks that nothing is lost, doubled or damaged, and writes the table of the run. */
async function assertWhole(t: Test, load: Load, seen: Database) {
  const { tallies, sockets, sent, uploads } = load
  await load.stop()
  const items = await load.inbox()
  const arrived = () => sockets.every((socket) => items.every(({ id }) => socket.known.has(id)))
  await comes('each socket has received each message', arrived).catch(() => undefined)
  const perContent = Map.groupBy(items, ({ content }) => content)
  const stored = sent.filter((content) => perContent.has(content)).length
  const doubled = [...perContent.values()].filter(({ length }) => length > 1).length
  const damaged = await load.damagedUploads()
  const missed = sockets.map((socket) => items.filter(({ id }) => !socket.known.has(id)).length)
  const twice = sockets.map((socket) => [...socket.pushed.values()].filter((count) => count > 1).length)
  const connections = sockets.map((socket) => socket.connections)
  const pushes = sockets.reduce((sum, socket) => sum + socket.pushed.size, 0)

  const open = `select count(*) as n from async_task where type = 'probe.work' and status not in ('succeeded', 'failed')`
  await comes('every task has ended', async () => (await number(seen, open)) === 0)
  const tasks = await number(seen, `select count(*) as n from async_task where type = 'probe.work'`)
  const ran = await number(seen, 'select count(*) as n from probe_work')
  const distinct = await number(seen, 'select count(distinct task_id) as n from probe_work')
  await allIsWell(t, seen)

  t.comment('kind | tries | repeated | failed')
  for (const kind of kinds) {
    const { requests, repeated, failures } = tallies[kind]
    t.comment(`${kind} | ${requests} | ${repeated} | ${failures.length}`)
  }
  t.comment(`messages: ${sent.length} acknowledged, ${stored} stored, ${doubled} doubled`)
  t.comment(`uploads: ${uploads.length} acknowledged, ${uploads.length - damaged} whole`)
  t.comment(`tasks: ${tasks} queued, ${distinct} ran to their end, ${ran - distinct} more than once`)
  t.comment(`sockets: connections ${connections}, pushes ${pushes}, missed ${missed}, pushed twice ${twice}`)
  t.comment(`close codes: ${JSON.stringify(sockets.map(({ codes }) => codes))}`)

  for (const kind of kinds) t.same(tallies[kind].failures.slice(0, 5), [], `no failed ${kind}`)
  t.ok(sent.length > 100 && uploads.length > 5 && tasks > 10, 'the clients worked')
  t.equal(stored, sent.length, 'each acknowledged message is stored')
  t.equal(doubled, 0, 'each message is stored once')
  t.equal(damaged, 0, 'each acknowledged upload is whole')
  t.equal(distinct, tasks, 'each task ran to its end')
  t.same(missed, [0, 0, 0, 0], 'each socket received each message')
  t.same(twice, [0, 0, 0, 0], 'no message was pushed twice to a socket')
  t.same(
    sockets.flatMap(({ failures }) => failures),
    [],
  )
  return { tallies, ran, distinct }
}

async function run(t: Test, proxy: (typeof proxies)[number], signal: 'SIGTERM' | 'SIGKILL', roundCount: number) {
  const { db, settings } = await settingsFor(t, '5s')
  const ports = [await freePort(), await freePort()]
  const start = (index: number) => startProcess(t, product, { ...settings, 'platform.http.port': String(ports[index]) })
  const instances = await Promise.all([start(0), start(1)])
  const urls = instances.map(({ url }) => url) as [string, string]
  const { port, ca, output } = await startProxy(t, proxy, urls)
  const seen = await look(t, db)
  const { authorization = '' } = await authorize(urls[0])
  const me = (await (await fetch(`${urls[0]}/api/v1/iam/users/me`, { headers: { authorization } })).json()) as {
    data: { id: number }
  }
  const load = startLoad({ port, ca, authorization, userId: me.data.id, isKill: signal === 'SIGKILL' })
  t.teardown(() => load.end())
  const bothServe = () =>
    comes('both instances serve', async () => (await servedBy(urls[0])) >= 20 && (await servedBy(urls[1])) >= 20)
  await bothServe()
  for (let round = 1; round <= roundCount; round++) {
    for (const index of [0, 1]) {
      const instance = instances[index] as ProductProcess
      const begin = performance.now()
      instance.child.kill(signal)
      const end = await instance.ended()
      const endMs = performance.now() - begin
      if (signal === 'SIGTERM')
        t.same(end, [0, null], end[0] === 0 ? 'it drains and ends' : instance.output().slice(-4_000))
      instances[index] = await start(index)
      t.comment(
        `round ${round}, instance ${index + 1}: ended after ${(endMs / 1_000).toFixed(1)} s, listens after ${((performance.now() - begin) / 1_000).toFixed(1)} s`,
      )
      await bothServe()
      await pause(1_000)
    }
  }
  const whole = await assertWhole(t, load, seen)
  const errors = output()
    .split('\n')
    .filter((line) => /\[error\]/.test(line) && !/\(111: /.test(line))
  for (const line of errors.slice(0, 10)) t.comment(line)
  await load.end()
  for (const { child, ended } of instances) {
    child.kill('SIGTERM')
    t.same(await ended(), [0, null])
  }
  return whole
}

const skipPostgres = everyDialect.find(({ dialect }) => dialect === 'postgresql')?.skip ?? false

for (const proxy of proxies) {
  const skip = proxy.program === undefined ? `no ${proxy.name.toLowerCase()} program` : skipPostgres || skipRedis
  t.test(
    `K-018 a rolling restart behind ${proxy.name}: no client notices it`,
    { skip, timeout: 900_000 },
    async (t) => {
      const { tallies, ran, distinct } = await run(t, proxy, 'SIGTERM', rounds)
      t.equal(ran, distinct, 'no task ran to its end twice')
      for (const kind of kinds) t.equal(tallies[kind].repeated, 0, `no ${kind} was repeated`)
    },
  )
}

const [nginx] = proxies
t.test(
  'K-018 instances that are killed in turn: clients that repeat their requests lose nothing',
  { skip: nginx?.program === undefined ? 'no nginx program' : skipPostgres || skipRedis, timeout: 900_000 },
  async (t) => {
    await run(t, nginx as (typeof proxies)[number], 'SIGKILL', 1)
  },
)
