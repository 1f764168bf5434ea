/** Tests rules that apply to every engine with several instances, on every database, with a manual clock. */

import { asyncTaskFailed } from '@plinth/async-task'
import { assertMembers, manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { definePlugin, type Role } from '@plinth/kernel'
import { pino } from 'pino'
import t from 'tap'
import { onEachEngine, owner } from './fixtures/engines.ts'
import { Probe, reportTaskType, startTasks } from './fixtures/product.ts'

/** Changes the row of a task as if the instance that ran the task had died. */
async function abandon(
  { db, clock }: Pick<Awaited<ReturnType<typeof startTasks>>, 'db' | 'clock'>,
  id: number,
  { attempts = 1, cancelRequested = false } = {},
) {
  await db.execute(
    `update async_task set status = 'running', holder = 'dead:1', fence = fence + 1, beat = 5, attempts = ?,
       cancel_requested = ?, started_at = ? where id = ?`,
    [attempts, cancelRequested, new Date(clock.now()), id],
  )
}

onEachEngine('two instances: each task runs once, and no more than allowed at a time', async (t, db, engine) => {
  const clock = manualClock()
  const ran: number[] = []
  const atOnce = [0, 0]
  const most = [0, 0]
  const start = (instance: number, roles?: readonly Role[]) =>
    startTasks(t, db, {
      clock,
      ...(roles ? { roles } : {}),
      config: {
        ...engine,
        'platform.async-task.lease': '1h',
        'platform.async-task.concurrency': 3,
        'platform.async-task.queue.per-owner': 1000,
      },
      handle: (tasks) =>
        tasks.handle(reportTaskType, async ({ rows }) => {
          ran.push(rows)
          most[instance] = Math.max(most[instance] ?? 0, ++(atOnce[instance] as number))
          // Waits a little. A task that must not start yet would start in this time.
          for (let looks = 0; looks < 5; looks++) await tasks.list({}, { size: 1, count: 'exact' })
          atOnce[instance] = (atOnce[instance] as number) - 1
        }),
    })
  const one = await start(0)
  await start(1)
  const web = await start(2, ['web'])
  const ids: number[] = []
  for (let rows = 0; rows < 40; rows++) ids.push((await web.tasks.submit(reportTaskType, { rows }, owner)).id)
  const isDone = async () => {
    await clock.advance(1000)
    return (await one.tasks.list({ status: 'succeeded' }, { count: 'exact' })).total === ids.length
  }
  await until(isDone, 'all are done')
  t.same(
    ran.toSorted((a, b) => a - b),
    ids.map((_, index) => index),
    'each once',
  )
  t.ok(
    most.every((count) => count <= 3),
    `at once: ${most}`,
  )
  for (const id of ids) t.hasStrict(await web.tasks.get(id), { attempts: 1, status: 'succeeded' })
})

onEachEngine(
  'the task of a dead instance is taken over within the lease, a limited number of times',
  async (t, db, engine) => {
    const probe = new Probe()
    const reported: object[] = []
    const listener = definePlugin({
      id: 'listener',
      version: '1.0.0',
      kernel: '^1.0.0',
      requires: { events },
      setup: ({ services }) =>
        services.events.on(asyncTaskFailed, 'listener', ({ payload }) => {
          reported.push(payload)
        }),
    })
    const clock = manualClock()
    const limits = { 'platform.async-task.max-attempts': 2 }
    const leaseSeconds = 30
    const config = { ...engine, ...limits, 'platform.async-task.lease': `${leaseSeconds}s` }
    const web = await startTasks(t, db, {
      clock,
      config,
      roles: ['web'],
      handle: (tasks) => tasks.handle(reportTaskType, () => {}),
    })
    const [retried, exhausted, unwanted] = [
      await web.tasks.submit(reportTaskType, { rows: 1 }, owner),
      await web.tasks.submit(reportTaskType, { rows: 2 }, owner),
      await web.tasks.submit(reportTaskType, { rows: 3 }, owner),
    ]
    await abandon(web, retried.id)
    await abandon(web, exhausted.id, { attempts: 2 })
    await abandon(web, unwanted.id, { cancelRequested: true })
    await web.storage.put('local', `async-task/${exhausted.id}/1.csv`, 'of the dead instance')

    const lines: Record<string, unknown>[] = []
    const one = await startTasks(t, db, {
      clock,
      config,
      logger: pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) }),
      plugins: [listener],
      handle: (tasks) => tasks.handle(reportTaskType, probe.handle),
    })
    await one.passed()
    await clock.advance(19_000)
    // A heartbeat restarts the lease.
    await web.db.execute('update async_task set beat = beat + 1 where id = ?', [retried.id])
    await one.passed()
    const seenAt = clock.monotonic()
    await clock.advance(leaseSeconds * 1000 - seenAt)
    // Waits until the current poll has ended. Otherwise the poll would wait for time that does not advance.
    await one.passed()
    t.hasStrict(await web.reaches(exhausted.id, 'failed'), {
      failure: { reason: 'async-task.lost', params: { attempts: 2 } },
    })
    t.match(await web.reaches(unwanted.id, 'cancelled'), { failure: null })
    await one.events.idle()
    await clock.advance(9000)
    await one.passed()
    t.equal(probe.runs.length, 0, 'a living holder keeps its task')
    await clock.advance(seenAt + leaseSeconds * 1000 - clock.monotonic())
    await one.passed()
    await probe.begun(1)
    assertMembers(t, probe.runs, [{ attempt: 2 }])
    probe.release()
    t.match(await web.reaches(retried.id, 'succeeded'), { attempts: 2 })
    await until(async () => (await web.paths()).length === 0, 'what dead instances wrote is removed')
    await one.events.idle()
    assertMembers(t, reported, [{ taskId: exhausted.id, reason: 'async-task.lost', attempts: 2 }])
    const taken = lines.filter(({ msg }) => msg === 'task taken from a lost instance')
    assertMembers(
      t,
      taken.sort((first, second) => Number(first['taskId']) - Number(second['taskId'])),
      [
        { taskId: retried.id, holder: 'dead:1', attempts: 1 },
        { taskId: exhausted.id, holder: 'dead:1', attempts: 2 },
        { taskId: unwanted.id, holder: 'dead:1', attempts: 1 },
      ],
    )
  },
)

t.test('the engine bullmq without Redis is rejected with a fix', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const rejected = startTasks(t, db, { config: { 'platform.async-task.engine': 'bullmq' } })
  await rejectsWith(t, rejected, {
    cause: { code: 'PLINTH_COORDINATION_NO_REDIS' },
    message: /"bullmq", but the product has no Redis/,
  })
})
