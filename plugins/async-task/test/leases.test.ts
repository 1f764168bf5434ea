/** Tests lost, returned and cancelled tasks with every engine, on every database, with a manual clock. */

import type { TaskContext } from '@plinth/async-task'
import { assertMembers, manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import t from 'tap'
import { leaseSeconds, runUntilBeat } from '../../coordination/test/fixtures/instances.ts'
import { onEachEngine, owner } from './fixtures/engines.ts'
import { advanceUntil, Probe, reportTaskType, startTasks } from './fixtures/product.ts'

onEachEngine('an instance that loses a task gets an aborted signal and records nothing', async (t, db, engine) => {
  const contexts: TaskContext[] = []
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const config = { ...engine, 'platform.async-task.lease': `${leaseSeconds}s` }
  const one = await startTasks(t, db, {
    config,
    handle: (tasks) =>
      tasks.handle(reportTaskType, async (_, context) => {
        contexts.push(context)
        await ends[contexts.length - 1]?.promise
      }),
  })
  t.teardown(() => ends.map(({ resolve }) => resolve()))
  const { tasks, clock, db: database } = one
  const { id } = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  await until(() => contexts.length === 1, 'it begins')
  const beats = async () => {
    const [row] = await database.query<{ beat: number | string }>('select beat from async_task where id = ?', [id])
    return Number(row?.beat)
  }
  const { signal } = contexts[0] as TaskContext
  await runUntilBeat({ clock, signal, beats }, 12)
  t.equal(signal.aborted, false, 'signs of life keep the lease')
  await database.execute(`update async_task set fence = fence + 1, holder = 'thief:1' where id = ?`, [id])
  await clock.advance(6000)
  await until(() => signal.aborted, 'the signal aborts')
  t.match(signal.reason, { message: 'The lease of the task was lost.' })
  const write = contexts[0]?.writeArtifact({ name: 'a' }, (async function* () {})())
  await rejectsWith(t, write as Promise<void>, { message: /lease/ })
  ends[0]?.resolve()
  await one.passed()
  t.hasStrict(await tasks.get(id), { status: 'running', finishedAt: null }, 'the row of the new holder is left alone')
  assertMembers(t, await database.query('select holder from async_task where id = ?', [id]), [{ holder: 'thief:1' }])

  const second = await tasks.submit(reportTaskType, { rows: 1 }, owner)
  await until(() => contexts.length === 2, 'the next begins')
  await database.execute('alter table async_task rename to hidden_task')
  for (let seconds = 0; seconds < 18; seconds++) await clock.advance(1000)
  await until(() => contexts[1]?.signal.aborted, 'a holder that hears nothing gives up before others may take over')
  await database.execute('alter table hidden_task rename to async_task')
  ends[1]?.resolve()
  await one.passed()
  t.equal((await tasks.get(second.id)).status, 'running')
})

onEachEngine('an instance that stops gives its tasks back, and another one runs them', async (t, db, engine) => {
  const clock = manualClock()
  const first = new Probe()
  const second = new Probe()
  const config = { ...engine, 'platform.async-task.lease': '1h', 'platform.async-task.max-attempts': 1 }
  const start = (probe: Probe) =>
    startTasks(t, db, { clock, config, handle: (tasks) => tasks.handle(reportTaskType, probe.handle) })
  const one = await start(first)
  const kept = await one.tasks.submit(reportTaskType, { rows: 1 }, owner)
  const unwanted = await one.tasks.submit(reportTaskType, { rows: 1 }, owner)
  const run = await first.begun(1)
  await first.begun(2)
  const idle = await start(second)
  const stopped = one.running.stop('deploy')
  await until(() => run.signal.aborted, 'the signal aborts')
  t.match(run.signal.reason, { message: 'The instance stops.' })
  await idle.running.stop('deploy')
  t.equal(
    one.running.state,
    'draining',
    'it waits for the handlers, while an instance that began to stop later has stopped',
  )
  const two = await start(second)
  await two.tasks.cancel(unwanted.id)
  await clock.advance(5000)
  await two.passed()
  t.equal(second.runs.length, 0, 'not before the handlers have ended')
  first.release()
  await stopped
  await advanceUntil(clock, () => second.runs.length === 1, 'the other one begins')
  assertMembers(t, second.runs, [{ attempt: 1 }], 'what was given back does not count as an attempt')
  second.release()
  await two.reaches(kept.id, 'succeeded')
  t.hasStrict(await two.tasks.get(unwanted.id), { status: 'cancelled' }, 'what nobody wants any more is not run again')
  t.equal(second.runs.length, 1)
})

onSqlite(
  t,
  'an instance that stops cleans up after its own run, even if another instance has the task by then',
  async (t, db) => {
    const config = { 'platform.async-task.lease': `${leaseSeconds}s` }
    const text = async function* (said: string) {
      yield said
    }
    const hasWritten = Promise.withResolvers<void>()
    const one = await startTasks(t, db, {
      config,
      handle: (tasks) =>
        tasks.handle(reportTaskType, async (_, { signal, writeArtifact }) => {
          await writeArtifact({ name: 'report.csv' }, text('of the first'))
          hasWritten.resolve()
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        }),
    })
    const { id } = await one.tasks.submit(reportTaskType, { rows: 1 }, owner)
    await hasWritten.promise
    const list = one.storage.list.bind(one.storage)
    const isTidying = Promise.withResolvers<void>()
    const goesOn = Promise.withResolvers<void>()
    one.storage.list = async function* (disk, directory) {
      isTidying.resolve()
      await goesOn.promise
      yield* list(disk, directory)
    }
    const stopped = one.running.stop('deploy')
    await isTidying.promise
    const two = await startTasks(t, db, {
      config,
      handle: (tasks) =>
        tasks.handle(reportTaskType, (_, { writeArtifact }) =>
          writeArtifact({ name: 'report.csv' }, text('of the second')),
        ),
    })
    await advanceUntil(
      two.clock,
      async () => (await two.tasks.get(id)).status === 'succeeded',
      'the task is taken over',
    )
    goesOn.resolve()
    await stopped
    t.same(await two.paths(), [(await two.tasks.get(id)).artifact?.path])
  },
)

onEachDatabase(t, 'if other work uses up the connection pool, no running task loses its lease', async (t, db) => {
  const probe = new Probe()
  const config = { 'platform.async-task.lease': `${leaseSeconds}s`, 'platform.database.pool-size': 2 }
  const one = await startTasks(t, db, { config, handle: (tasks) => tasks.handle(reportTaskType, probe.handle) })
  t.teardown(() => probe.release())
  const { id } = await one.tasks.submit(reportTaskType, { rows: 1 }, owner)
  const run = await probe.begun(1)
  const beats = async () => {
    const statement = 'select beat from async_task where id = ?'
    const [row] = await one.db.reserved.query<{ beat: number | string }>(statement, [id])
    return Number(row?.beat)
  }
  const end = Promise.withResolvers<void>()
  t.teardown(end.resolve)
  const hold = async () => {
    const begun = Promise.withResolvers<void>()
    const held = one.db.transactional(async () => {
      begun.resolve()
      await end.promise
    })
    await begun.promise
    return () => held
  }
  // On SQLite, the test blocks no connection: there is only one, and a heartbeat comes first in its queue.
  const holders = db.dialect === 'sqlite' ? [] : await Promise.all([hold(), hold()])
  const common = one.db.query('select 1 as one')
  const before = await beats()
  await runUntilBeat({ clock: one.clock, signal: run.signal, beats }, before + 6)
  t.equal(run.signal.aborted, false, 'the lease is kept')
  end.resolve()
  await Promise.all([common, ...holders.map((held) => held())])
  probe.release()
  await one.reaches(id, 'succeeded')
})

onEachEngine('another instance can cancel a running task', async (t, db, engine) => {
  const clock = manualClock()
  const probe = new Probe()
  const config = { ...engine, 'platform.async-task.lease': '1h' }
  const one = await startTasks(t, db, { clock, config, handle: (tasks) => tasks.handle(reportTaskType, probe.handle) })
  const web = await startTasks(t, db, {
    clock,
    config,
    roles: ['web'],
    handle: (tasks) => tasks.handle(reportTaskType, () => {}),
  })
  const { id } = await web.tasks.submit(reportTaskType, { rows: 1 }, owner)
  await advanceUntil(clock, () => probe.runs.length === 1, 'it begins')
  await web.tasks.cancel(id)
  await advanceUntil(clock, () => probe.runs[0]?.signal.aborted, 'the signal aborts')
  probe.release()
  await one.reaches(id, 'cancelled')
})
