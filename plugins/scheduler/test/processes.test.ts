/** Instances that are processes of their own, under load, on the real clock; killed while they work. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import databasePlugin, { database } from '@plinth/database'
import { onEachDatabase, type TestDatabase } from '@plinth/database/testing'
import { defineProduct, type JsonValue } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import { ownRedis, skipOwnRedis, skipRedis } from '@plinth/shared-store/testing'
import t, { type Test } from 'tap'
import { until } from './fixtures/products.ts'
import { bullmq, ownRedisKeys } from './fixtures/redis.ts'

const leaseMs = 2500
const program = join(import.meta.dirname, 'fixtures', 'worker-process.ts')

interface WorkRun {
  readonly task: string
  readonly pid: number
  readonly begunAt: number
  readonly seenAt: number
  readonly ended: boolean
}

/** Starts workers on a database and looks at what they wrote. */
async function observe(t: Test, db: TestDatabase, engine: Readonly<Record<string, JsonValue>>) {
  const config = { ...db.config, ...engine, 'platform.scheduler.lease': `${leaseMs}ms` }
  const children = new Set<ChildProcess>()
  const start = async () => {
    const child = fork(program, [JSON.stringify(config)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    children.add(child)
    child.on('exit', () => children.delete(child))
    await once(child, 'message')
    return child
  }
  const end = async (child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM') => {
    child.kill(signal)
    const [code] = await once(child, 'exit')
    return code
  }
  t.teardown(async () => {
    await Promise.all([...children].map((child) => end(child, 'SIGKILL')))
  })
  const first = await start()
  const product = defineProduct({
    name: 'observer',
    plugins: [databasePlugin],
    config: { ...db.config, 'platform.database.migrate-at-start': false },
  })
  const observer = await startForTest(product, { roles: ['web'] })
  t.teardown(() => observer.stop('test ended'))

  const runs = async (): Promise<readonly WorkRun[]> => {
    const rows = await observer
      .service(database)
      .query<Record<'task' | 'pid' | 'begun_at' | 'seen_at' | 'ended', string | number | boolean>>(
        'select task, pid, begun_at, seen_at, ended from work_run order by task, begun_at, id',
      )
    return rows.map((row) => ({
      task: String(row.task),
      pid: Number(row.pid),
      begunAt: Number(row.begun_at),
      seenAt: Number(row.seen_at),
      ended: Number(row.ended) === 1,
    }))
  }
  const overlaps = async () => {
    const all = await runs()
    return all.filter((run, index) => all[index - 1]?.task === run.task && run.begunAt < (all[index - 1]?.seenAt ?? 0))
  }
  return { first, start, end, runs, overlaps }
}

const endless = (runs: readonly WorkRun[], pid: number | undefined) =>
  runs.filter((run) => run.pid === pid && !run.ended)

async function killingOneOfTwo(t: Test, db: TestDatabase, engine: Readonly<Record<string, JsonValue>>): Promise<void> {
  const { first, start, end, runs, overlaps } = await observe(t, db, engine)
  let victim = first
  let survivor = await start()
  for (let round = 1; round <= 2; round++) {
    const { pid } = victim
    await until(async () => endless(await runs(), pid).length > 0, 'the victim works')
    await end(victim, 'SIGKILL')
    const killedAt = Date.now()
    const left = endless(await runs(), pid)
    const takenOver = async () => {
      const all = await runs()
      return left.every(({ task }) => all.some((run) => run.task === task && run.begunAt > killedAt))
    }
    await until(takenOver, 'the survivor takes over')
    const all = await runs()
    for (const { task } of left) {
      const next = all.find((run) => run.task === task && run.begunAt > killedAt)
      // That it is within the lease is shown on a clock of the test's own; here it would measure the machine.
      t.equal(next?.pid, survivor.pid, `round ${round}: ${task} taken over`)
    }
    victim = survivor
    survivor = await start()
  }
  const counts = await runs()
  t.same(await overlaps(), [], `no two of ${counts.length} runs of one task at once`)
  t.ok(new Set(counts.map(({ pid }) => pid)).size >= 3, 'several processes had a share')
  t.ok(counts.length > 40, 'under load')
  t.same(await Promise.all([end(victim, 'SIGTERM'), end(survivor, 'SIGTERM')]), [0, 0], 'K-018 both end in peace')
  const unfinished = (await runs()).filter((run) => !run.ended && [victim.pid, survivor.pid].includes(run.pid))
  t.same(unfinished, [], 'K-018 running tasks had their time')
}

t.test('A11 two processes, killed under load: embedded', async (t) => {
  onEachDatabase(t, 'embedded', (t, db) => killingOneOfTwo(t, db, {}))
})

t.test('A11 two processes, killed under load: bullmq', { skip: skipRedis }, async (t) => {
  onEachDatabase(t, 'bullmq', (t, db) => killingOneOfTwo(t, db, ownRedisKeys(t)))
})

t.test('A11 Redis frozen, killed and empty again', { skip: skipOwnRedis }, async (t) => {
  onEachDatabase(t, 'bullmq', async (t, db) => {
    const redis = await ownRedis()
    t.teardown(() => redis.drop())
    const { first, start, end, runs, overlaps } = await observe(t, db, { ...redis.config, ...bullmq })
    const second = await start()
    const more = async (failure: string) => {
      const { length } = await runs()
      await until(async () => (await runs()).length > length + 12, failure)
    }
    await more('tasks run')
    redis.freeze()
    await until(async () => (await runs()).every(({ ended }) => ended), 'what runs ends without Redis')
    redis.thaw()
    await more('tasks run again after Redis stood still')
    await redis.kill()
    await until(async () => (await runs()).every(({ ended }) => ended), 'what runs ends without Redis')
    await redis.start()
    await more('tasks run again on an empty Redis')
    t.same(await overlaps(), [])
    await redis.kill()
    t.same(await Promise.all([end(first, 'SIGTERM'), end(second, 'SIGTERM')]), [0, 0], 'stops without Redis')
  })
})
