/** What holds for every engine with several instances, on every database, on a clock that the test moves. */

import { asyncTaskFailed, type TaskContext } from '@plinth/async-task'
import { createDatabase, onEachDatabase, type TestDatabase } from '@plinth/database/testing'
import { events } from '@plinth/events'
import type { JsonValue, Role } from '@plinth/kernel'
import { definePlugin } from '@plinth/kernel'
import { manualClock } from '@plinth/kernel/testing'
import { skipRedis } from '@plinth/shared-store/testing'
import t, { type Test } from 'tap'
import { ownRedisKeys, Probe, report, standStill, startTasks, until } from './fixtures/product.ts'

type Config = Readonly<Record<string, JsonValue>>
const owner = { ownerId: 7 }
const leaseSeconds = 30

const engines: readonly { name: string; skip: false | string; engine: (t: Test) => Config }[] = [
  { name: 'embedded', skip: false, engine: () => ({}) },
  { name: 'bullmq', skip: skipRedis, engine: ownRedisKeys },
]

function onEachEngine(name: string, tests: (t: Test, db: TestDatabase, engine: Config) => Promise<void>): void {
  for (const { name: engineName, skip, engine } of engines) {
    t.test(`${name}: ${engineName}`, { skip }, async (t) => {
      onEachDatabase(t, engineName, (t, db) => tests(t, db, engine(t)))
    })
  }
}

/** A row of a task that an instance runs which is dead. */
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

onEachEngine('two instances: each task is run once, and no more at a time than allowed', async (t, db, engine) => {
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
        tasks.handle(report, async ({ rows }) => {
          ran.push(rows)
          most[instance] = Math.max(most[instance] ?? 0, ++(atOnce[instance] as number))
          await standStill()
          atOnce[instance] = (atOnce[instance] as number) - 1
        }),
    })
  const one = await start(0)
  await start(1)
  const web = await start(2, ['web'])
  const ids: number[] = []
  for (let rows = 0; rows < 40; rows++) ids.push((await web.tasks.submit(report, { rows }, owner)).id)
  const isDone = async () => {
    await clock.advance(1000)
    return (await one.tasks.list({ page: 1, size: 1, status: 'succeeded' })).total === ids.length
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
  for (const id of ids) t.match(await web.tasks.get(id), { attempts: 1, status: 'succeeded' })
})

onEachEngine('the task of a dead instance is taken over within the lease, a few times', async (t, db, engine) => {
  const probe = new Probe()
  const told: object[] = []
  const listener = definePlugin({
    id: 'listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    setup: ({ services }) =>
      services.events.on(asyncTaskFailed, 'listener', ({ payload }) => {
        told.push(payload)
      }),
  })
  const clock = manualClock()
  const config = { ...engine, 'platform.async-task.lease': `${leaseSeconds}s` }
  const web = await startTasks(t, db, {
    clock,
    config,
    roles: ['web'],
    handle: (tasks) => tasks.handle(report, () => {}),
  })
  const [retried, exhausted, unwanted] = [
    await web.tasks.submit(report, { rows: 1 }, owner),
    await web.tasks.submit(report, { rows: 2 }, owner),
    await web.tasks.submit(report, { rows: 3 }, owner),
  ]
  await abandon(web, retried.id)
  await abandon(web, exhausted.id, { attempts: 3 })
  await abandon(web, unwanted.id, { cancelRequested: true })
  await web.storage.put('local', `async-task/${exhausted.id}/1.csv`, 'of the dead instance')

  const one = await startTasks(t, db, {
    ...{ clock, config, plugins: [listener] },
    handle: (tasks) => tasks.handle(report, probe.handle),
  })
  await standStill()
  for (let second = 0; second < 20; second++) await clock.advance(1000)
  await standStill()
  // A sign of life starts the time anew.
  await web.db.execute('update async_task set beat = beat + 1 where id = ?', [retried.id])
  const seenAt = clock.monotonic()
  const isOver = async (id: number) => {
    await clock.advance(500)
    await standStill()
    return (await web.tasks.get(id)).finishedAt !== null
  }
  await until(() => isOver(exhausted.id), 'the exhausted one is taken away')
  t.match(await web.reaches(exhausted.id, 'failed'), {
    failure: { reason: 'async-task.lost', params: { attempts: 3 } },
  })
  t.match(await web.reaches(unwanted.id, 'cancelled'), { failure: null })
  t.equal(probe.runs.length, 0, 'a living holder keeps its task')
  while (probe.runs.length === 0) {
    if (clock.monotonic() - seenAt > 2 * leaseSeconds * 1000) break
    await clock.advance(500)
    await standStill()
  }
  t.match(probe.runs, [{ attempt: 2 }])
  t.ok(clock.monotonic() - seenAt <= leaseSeconds * 1000 + 1000, `after ${clock.monotonic() - seenAt} ms`)
  probe.release()
  t.match(await web.reaches(retried.id, 'succeeded'), { attempts: 2 })
  await until(async () => (await web.paths()).length === 0, 'what dead instances wrote is removed')
  await one.events.idle()
  t.match(told, [{ taskId: exhausted.id, reason: 'async-task.lost', attempts: 3 }])
})

onEachEngine('who loses a task sees the signal abort and records nothing', async (t, db, engine) => {
  const contexts: TaskContext[] = []
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const config = { ...engine, 'platform.async-task.lease': `${leaseSeconds}s` }
  const one = await startTasks(t, db, {
    config,
    handle: (tasks) =>
      tasks.handle(report, async (_, context) => {
        contexts.push(context)
        await ends[contexts.length - 1]?.promise
      }),
  })
  const { tasks, clock, db: database } = one
  const { id } = await tasks.submit(report, { rows: 1 }, owner)
  await until(() => contexts.length === 1, 'it begins')
  for (let second = 0; second < 60; second++) {
    await clock.advance(1000)
    if (second % 3 === 0) await standStill()
  }
  t.equal(contexts[0]?.signal.aborted, false, 'signs of life keep the lease')
  await database.execute(`update async_task set fence = fence + 1, holder = 'thief:1' where id = ?`, [id])
  await clock.advance(6000)
  await until(() => contexts[0]?.signal.aborted, 'the signal aborts')
  t.match(contexts[0]?.signal.reason, { message: 'The lease of the task was lost.' })
  const write = contexts[0]?.writeArtifact({ name: 'a' }, (async function* () {})())
  await t.rejects(write as Promise<void>, { message: /lease/ })
  ends[0]?.resolve()
  await standStill()
  t.match(await tasks.get(id), { status: 'running', finishedAt: null }, 'the row of the new holder is left alone')
  t.match(await database.query('select holder from async_task where id = ?', [id]), [{ holder: 'thief:1' }])

  const second = await tasks.submit(report, { rows: 1 }, owner)
  await until(() => contexts.length === 2, 'the next begins')
  await database.execute('alter table async_task rename to hidden_task')
  for (let seconds = 0; seconds < 18; seconds++) await clock.advance(1000)
  await until(() => contexts[1]?.signal.aborted, 'a holder that hears nothing gives up before others may take over')
  await database.execute('alter table hidden_task rename to async_task')
  ends[1]?.resolve()
  await standStill()
  t.equal((await tasks.get(second.id)).status, 'running')
})

onEachEngine('an instance that stops gives its tasks back, and another one runs them', async (t, db, engine) => {
  const clock = manualClock()
  const first = new Probe()
  const second = new Probe()
  const config = { ...engine, 'platform.async-task.lease': '1h', 'platform.async-task.max-attempts': 1 }
  const start = (probe: Probe) =>
    startTasks(t, db, { clock, config, handle: (tasks) => tasks.handle(report, probe.handle) })
  const one = await start(first)
  const kept = await one.tasks.submit(report, { rows: 1 }, owner)
  const unwanted = await one.tasks.submit(report, { rows: 1 }, owner)
  const run = await first.begun(1)
  await first.begun(2)
  const stopped = one.running.stop('deploy')
  await until(() => run.signal.aborted, 'the signal aborts')
  t.match(run.signal.reason, { message: 'The instance stops.' })
  await standStill()
  t.equal(one.running.state, 'draining', 'it waits for the handlers')
  const two = await start(second)
  await two.tasks.cancel(unwanted.id)
  await clock.advance(5000)
  await standStill()
  t.equal(second.runs.length, 0, 'not before the handlers have ended')
  first.release()
  await stopped
  await clock.advance(1000)
  await second.begun(1)
  t.match(second.runs, [{ attempt: 1 }], 'what was given back does not count as an attempt')
  second.release()
  await two.reaches(kept.id, 'succeeded')
  t.match(await two.tasks.get(unwanted.id), { status: 'cancelled' }, 'what nobody wants any more is not run again')
  t.equal(second.runs.length, 1)
})

onEachEngine('another instance can cancel a task that runs', async (t, db, engine) => {
  const clock = manualClock()
  const probe = new Probe()
  const config = { ...engine, 'platform.async-task.lease': '1h' }
  const one = await startTasks(t, db, { clock, config, handle: (tasks) => tasks.handle(report, probe.handle) })
  const web = await startTasks(t, db, {
    clock,
    config,
    roles: ['web'],
    handle: (tasks) => tasks.handle(report, () => {}),
  })
  const { id } = await web.tasks.submit(report, { rows: 1 }, owner)
  await clock.advance(1000)
  const run = await probe.begun(1)
  await web.tasks.cancel(id)
  await clock.advance(1000)
  await until(() => run.signal.aborted, 'the signal aborts')
  probe.release()
  await one.reaches(id, 'cancelled')
})

t.test('the engine bullmq without Redis is refused with what to do', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const refused = startTasks(t, db, { config: { 'platform.async-task.engine': 'bullmq' } })
  await t.rejects(refused, { message: /"bullmq", but the product has no Redis/ })
})
