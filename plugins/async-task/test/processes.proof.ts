/**
 * Tests instances in separate processes with the real clock. One process is killed while it works, and one is stopped.
 */
import { fork } from 'node:child_process'
import { type WatchedProcess, watchProcess } from '@plinth/dev/testing'
import { onEachDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { skipRedis } from '@plinth/dev/testing/shared-store'
import { type JsonValue, systemClock } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { reportTaskType, startTasks, useSeparateRedisKeys } from './fixtures/product.ts'

const program = new URL('fixtures/worker-process.ts', import.meta.url)
const lines = 25
const perRound = 6
const expected = `\ufeff"line"\r\n${Array.from({ length: lines }, (_, line) => `${line}\r\n`).join('')}`

interface WorkRun {
  readonly taskId: number
  readonly pid: number
  readonly begunAt: number
  readonly seenAt: number
}

async function killingAndStopping(
  t: Test,
  db: TestDatabase,
  engine: Readonly<Record<string, JsonValue>>,
): Promise<void> {
  const config = {
    ...engine,
    'platform.async-task.lease': '2500ms',
    // If the database pauses for a second, every running task loses an attempt, so the limit is high.
    'platform.async-task.max-attempts': 100,
    'platform.async-task.concurrency': 3,
    'platform.async-task.queue.per-owner': 1000,
  }
  const observer = await startTasks(t, db, {
    config,
    roles: ['web'],
    clock: systemClock,
    handle: (tasks) => tasks.handle(reportTaskType, () => {}),
  })
  const { tasks, storage, paths } = observer
  const whole = { ...db.config, ...config, 'platform.storage.root': observer.root }
  const start = async () => {
    const worker = watchProcess(t, fork(program, [JSON.stringify(whole)], { silent: true }))
    await worker.until(() => worker.messages.length > 0, 'a worker has started')
    return worker
  }
  const runs = async (): Promise<readonly WorkRun[]> => {
    const rows = await observer.db.query<Record<'task_id' | 'pid' | 'begun_at' | 'seen_at', number | string>>(
      'select task_id, pid, begun_at, seen_at from work_run order by task_id, begun_at, id',
    )
    return rows.map((row) => ({
      taskId: Number(row.task_id),
      pid: Number(row.pid),
      begunAt: Number(row.begun_at),
      seenAt: Number(row.seen_at),
    }))
  }
  const ids: number[] = []
  const submit = async () => {
    for (let count = 0; count < perRound; count++) {
      ids.push((await tasks.submit(reportTaskType, { rows: lines }, { ownerId: 7 })).id)
    }
  }
  /** Waits until the process has started a task. Other processes may take the existing tasks first. */
  const works = async (worker: WatchedProcess) => {
    let looks = 0
    await worker.until(async () => {
      if (looks++ % 20 === 0) await submit()
      return (await runs()).some((run) => run.pid === worker.child.pid)
    }, 'it works')
  }
  /** True if the process was killed while it ran a task. */
  const leftSomething = async ({ child: { pid } }: WatchedProcess) => {
    const lastOf = new Map((await runs()).map((run) => [run.taskId, run.pid]))
    const own = ids.filter((id) => lastOf.get(id) === pid)
    return (await Promise.all(own.map((id) => tasks.get(id)))).some(({ status }) => status === 'running')
  }

  let [victim, survivor] = [await start(), await start()]
  for (;;) {
    await works(victim)
    await victim.end('SIGKILL')
    if (await leftSomething(victim)) break
    // The process was killed between two tasks, so no task is repeated. Another process is tried.
    victim = await start()
  }
  const heir = await start()
  await works(heir)
  t.same(await survivor.end('SIGTERM'), [0, null], 'K-018 a stopped one ends in peace')
  const areDone = async () => (await tasks.list({ status: 'succeeded' }, { count: 'exact' })).total === ids.length
  await heir.until(areDone, 'every task succeeds').catch(async (error: unknown) => {
    t.same(
      (await tasks.list({}, { size: 50, count: 'exact' })).items.filter(({ status }) => status !== 'succeeded'),
      [],
    )
    throw error
  })

  const all = await runs()
  const overlaps = all.filter((run, index) => {
    const before = all[index - 1]
    return before?.taskId === run.taskId && run.begunAt < before.seenAt
  })
  t.same(overlaps, [], `no two of ${all.length} runs of one task at once`)
  t.ok(all.length > ids.length, 'some were begun again')
  for (const id of ids) {
    const { artifact } = await tasks.get(id)
    const { content } = await storage.open('local', artifact?.path ?? '')
    t.equal(Buffer.concat(await content.toArray()).toString(), expected, `the file of ${id} is whole`)
  }
  await heir.until(async () => (await paths()).length === ids.length, 'there is no other file')
  t.same(await heir.end('SIGTERM'), [0, null])
}

t.test('two processes, one killed and one stopped while they work: embedded', async (t) => {
  onEachDatabase(t, 'embedded', (t, db) => killingAndStopping(t, db, {}))
})

t.test('two processes, one killed and one stopped while they work: bullmq', { skip: skipRedis }, async (t) => {
  onEachDatabase(t, 'bullmq', (t, db) => killingAndStopping(t, db, useSeparateRedisKeys(t)))
})
