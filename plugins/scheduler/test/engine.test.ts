/**
 * Tests rules that apply to every engine on every database. The clock advances only by `advance`. Waits in real time
 * are for databases and Redis.
 */

import { database } from '@plinth/database'
import { assertMembers, manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onEachDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { skipRedis } from '@plinth/dev/testing/shared-store'
import eventsPlugin, { events } from '@plinth/events'
import { definePlugin, type JsonValue, type Logger, type Plugin, type Role } from '@plinth/kernel'
import { scheduledTaskFailed, type TaskRun } from '@plinth/scheduler'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { leaseSeconds, runUntilBeat } from '../../coordination/test/fixtures/instances.ts'
import { markerTask } from './fixtures/marker-task.ts'
import { autoKey, delayKey, Probe, probePlugin, secret } from './fixtures/probe-task.ts'
import { startScheduler } from './fixtures/products.ts'
import { offerRun, useSeparateRedisKeys } from './fixtures/redis.ts'

const minute = 60_000
const task = 'probe.task'

/** Returns a logger and a function that returns the lines with a message. */
function logLines() {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) })
  return { logger, logged: (text: string) => lines.filter(({ msg }) => msg === text) }
}

/** The lease is long, so that jumps of the clock do not expire the lease of a running task. */
const config = { 'platform.scheduler.lease': '1h', 'platform.scheduler.poll-interval': '1s' }
type Config = Readonly<Record<string, JsonValue>>

/** Both engines use the same statements, so the second one runs on one database. */
const engines: readonly {
  name: string
  skip: false | string
  engine: (t: Test) => Config
  onDatabases: typeof onEachDatabase
}[] = [
  {
    name: 'embedded',
    skip: false,
    engine: () => ({ 'platform.scheduler.engine': 'embedded' }),
    onDatabases: onEachDatabase,
  },
  { name: 'bullmq', skip: skipRedis, engine: useSeparateRedisKeys, onDatabases: onDatabase },
]

function onEachEngine(name: string, tests: (t: Test, db: TestDatabase, engine: Config) => Promise<void>): void {
  for (const { name: engineName, skip, engine, onDatabases } of engines) {
    t.test(`${name}: ${engineName}`, { skip }, async (t) => {
      onDatabases(t, engineName, (t, db) => tests(t, db, engine(t)))
    })
  }
}

/** Starts an instance and returns functions that control its task. */
async function startProbe(
  t: Test,
  db: TestDatabase,
  settings: {
    probe?: Probe
    config?: Config
    clock?: ReturnType<typeof manualClock>
    roles?: readonly Role[]
    plugins?: readonly Plugin[]
    logger?: Logger
  } = {},
) {
  const probe = settings.probe ?? new Probe()
  const { clock, roles, logger } = settings
  const marker = markerTask()
  const instance = await startScheduler(t, db, {
    plugins: [probePlugin(probe), ...(settings.plugins ?? []), marker.plugin],
    config: { ...config, ...settings.config },
    ...(clock ? { clock } : {}),
    ...(roles ? { roles } : {}),
    ...(logger ? { logger } : {}),
  })
  const { scheduler, running } = instance
  // The run is released first, because a stop waits for running tasks and its deadline never comes on a manual clock.
  t.teardown(() => probe.release())
  return {
    ...instance,
    probe,
    /** Waits until this instance has started all work that was due. */
    passed: () => marker.passed(scheduler),
    /** Waits until this number of runs has started. */
    begun: (count: number) => until(() => probe.begun.length >= count, `run ${count} begins`),
    /**
     * Waits until this number of runs is recorded as ended. With several instances the clock advances, so that they
     * poll repeatedly.
     */
    async ended(count: number, instances: 'one' | 'several' = 'one') {
      let looks = 0
      const ends = async () => {
        if (instances === 'several' && ++looks % 50 === 0) await instance.clock.advance(1000)
        const { items, total } = await scheduler.history(task, {}, { size: 100, count: 'exact' })
        // Count and items come from two statements, so the count may include a run that is missing in the items.
        return total === count && items.length === count && items.every(({ outcome }) => outcome !== null)
      }
      await until(ends, `run ${count} is recorded`)
    },
    last: async () => (await scheduler.get(task)).lastRun,
    set: (key: string, written: JsonValue) =>
      running.config.apply([{ name: key, by: 'key', written, place: 'sys_config' }]),
  }
}

onEachEngine('K-011 the delay begins at the end of a run', async (t, db, engine) => {
  const one = await startProbe(t, db, { config: engine })
  const { clock, probe } = one
  await one.ended(1)
  const [first = 0] = probe.begun
  await clock.advance(first + minute - 1 - clock.monotonic())
  await one.passed()
  t.equal(probe.begun.length, 1, 'not a millisecond early')
  probe.isQuick = false
  await clock.advance(1)
  await one.begun(2)
  t.equal(probe.begun[1], first + minute)

  const state = await one.scheduler.get(task)
  t.match(state, { running: true, nextRunAt: null, lastRun: { cause: 'delay', outcome: null, endedAt: null } })
  await clock.advance(5 * minute)
  await one.passed()
  t.equal(probe.begun.length, 2, 'the next run waits for the end of a long one')
  probe.end()
  await one.ended(2)
  const endedAt = clock.monotonic()
  t.hasStrict(await one.last(), { outcome: 'succeeded', durationMs: 5 * minute })
  t.same((await one.scheduler.get(task)).nextRunAt, new Date(clock.now() + minute))
  await clock.advance(minute - 1)
  await one.passed()
  t.equal(probe.begun.length, 2)
  await clock.advance(1)
  await one.begun(3)
  t.equal(probe.begun[2], endedAt + minute)
  probe.end()
  await one.ended(3)

  await one.running.stop('restart')
  await clock.advance(minute / 2)
  const again = await startProbe(t, db, { config: engine, clock, probe })
  await again.passed()
  t.equal(probe.begun.length, 3, 'the delay outlives a restart')
  await clock.advance(minute / 2)
  await again.begun(4)
  probe.end()
  await again.ended(4)
})

onEachEngine('K-011 delay and auto-startup are live keys', async (t, db, engine) => {
  const one = await startProbe(t, db, { config: { ...engine, [autoKey]: false } })
  const { clock, probe, scheduler } = one
  await clock.advance(10 * minute)
  await one.passed()
  t.equal(probe.begun.length, 0, 'without auto-startup it does not run by itself')
  assertMembers(t, (await scheduler.list()).slice(0, 1), [
    { name: task, plugin: 'probe', autoStartup: false, nextRunAt: null, lastRun: null, fixedDelayMs: minute },
  ])
  t.match(await scheduler.runNow(task), { requested: true })
  await one.ended(1)
  t.hasStrict(await one.last(), { cause: 'request', outcome: 'succeeded' })
  await clock.advance(10 * minute)
  await one.passed()
  t.equal(probe.begun.length, 1, 'asked once, run once')

  await one.set(autoKey, true)
  await clock.advance(1000)
  await one.ended(2)
  await one.running.config.apply([
    { name: autoKey, by: 'key', written: true, place: 'sys_config' },
    { name: delayKey, by: 'key', written: '5s', place: 'sys_config' },
  ])
  await clock.advance(4000)
  await one.passed()
  t.equal(probe.begun.length, 2)
  await clock.advance(1000)
  await one.ended(3)
  t.equal((await scheduler.get(task)).fixedDelayMs, 5000)
})

onEachEngine('A11 a task that throws is recorded, masked, and runs again', async (t, db, engine) => {
  const probe = new Probe()
  probe.failure = new Error(`no access with ${secret}\0 ${'😀'.repeat(600)}`)
  const { logger, logged } = logLines()
  const one = await startProbe(t, db, { config: engine, probe, logger })
  await one.ended(1)
  assertMembers(t, logged('scheduled task failed'), [{ level: 50, task }])
  assertMembers(t, logged('scheduled task failed'), [{ err: { message: /^no access with / } }])
  const last = await one.last()
  t.hasStrict(last, { outcome: 'failed', cause: 'delay' })
  t.notMatch(last?.error, secret)
  t.match(last?.error, /^no access with \S+ 😀/)
  t.equal([...(last?.error ?? '')].length, 500)
  probe.failure = undefined
  await one.clock.advance(minute)
  await one.ended(2)
  t.hasStrict(await one.last(), { outcome: 'succeeded', error: null })
  const { items, total } = await one.scheduler.history(task, {}, { size: 1, offset: 1, count: 'exact' })
  assertMembers(t, [total, items], [2, [{ outcome: 'failed' }]], 'the newest first')
  const failed = await one.scheduler.history(task, { outcome: 'failed' }, { count: 'exact' })
  t.equal(failed.total, 1)
})

onEachEngine('A11 two instances: one run at a time, one per delay, regardless of the caller', async (t, db, engine) => {
  const clock = manualClock()
  const probe = new Probe()
  const one = await startProbe(t, db, { config: engine, clock, probe })
  const two = await startProbe(t, db, { config: engine, clock, probe })
  const both = async () => {
    await one.passed()
    await two.passed()
  }
  const web = await startProbe(t, db, { config: engine, clock, probe, roles: ['web'] })
  await one.ended(1, 'several')
  for (let count = 2; count <= 12; count++) {
    await clock.advance(minute)
    await one.ended(count, 'several')
  }
  await both()
  t.equal(probe.begun.length, 12)

  probe.isQuick = false
  t.match(await web.scheduler.runNow(task), { requested: true, running: false }, 'asked where nothing runs')
  // A worker that was notified over the network may already have started the task.
  await web.scheduler.runNow(task).catch((error) => t.hasStrict(error, { reason: 'scheduler.task-running' }))
  await clock.advance(1000)
  await one.begun(13)
  await rejectsWith(t, web.scheduler.runNow(task), { code: '409', reason: 'scheduler.task-running' })
  await clock.advance(10 * minute)
  await both()
  probe.end()
  await one.ended(13, 'several')
  await both()
  t.equal(probe.begun.length, 13, 'asked twice before it began, run once')

  probe.isQuick = true
  t.match(await web.scheduler.pause(task), { paused: true, nextRunAt: null })
  await clock.advance(10 * minute)
  await both()
  t.equal(probe.begun.length, 13, 'paused on all instances')
  await web.scheduler.runNow(task)
  await clock.advance(1000)
  await one.ended(14, 'several')
  t.match(await one.last(), { cause: 'request' }, 'but runs for who asks')
  t.match(await web.scheduler.resume(task), { paused: false })
  await clock.advance(minute)
  await one.ended(15, 'several')
  t.equal(probe.maxConcurrent, 1)
  await rejectsWith(t, web.scheduler.pause('nobody'), { code: '404', reason: 'scheduler.task-unknown' })
})

onEachEngine('A11 the task of a dead instance is taken over within the lease', async (t, db, engine) => {
  const lease = { ...engine, 'platform.scheduler.lease': '30s' }
  const web = await startProbe(t, db, { config: lease, roles: ['web'] })
  const { db: database } = web
  await database.execute(
    'insert into scheduler_task (name, paused, requested, fence, beat, holder, run_id) values (?, ?, ?, 7, 9, ?, 1)',
    [task, false, false, 'dead:1'],
  )
  await database.execute('insert into scheduler_run (id, task, cause, instance, started_at) values (1, ?, ?, ?, ?)', [
    task,
    'delay',
    'dead:1',
    new Date(web.clock.now()),
  ])
  const { logger, logged } = logLines()
  const one = await startProbe(t, db, { config: lease, logger })
  await one.passed()
  await one.clock.advance(19_000)
  // A heartbeat restarts the lease.
  await database.execute('update scheduler_task set beat = beat + 1 where name = ?', [task])
  await one.passed()
  await one.clock.advance(20_000)
  await one.passed()
  t.equal(one.probe.begun.length, 0, 'a living holder keeps its task')
  // The lease is measured from the last heartbeat, so it has expired now.
  await one.clock.advance(10_000)
  // Waits until the current poll has ended. Otherwise the poll would wait for time that does not advance.
  await one.passed()
  await one.begun(1)
  await one.ended(2)
  const { items } = await one.scheduler.history(task, {}, { size: 10, count: 'exact' })
  assertMembers(t, items, [{ outcome: 'succeeded' }, { id: 1, outcome: 'lost', durationMs: null, instance: 'dead:1' }])
  t.type(items[1]?.endedAt, Date, 'the lost run has an end')
  assertMembers(t, logged('scheduled task taken from a lost instance'), [{ level: 40, task, holder: 'dead:1' }])
})

onEachEngine(
  'A11 an instance that loses the lease gets an aborted signal and records nothing',
  async (t, db, engine) => {
    const probe = new Probe()
    probe.isQuick = false
    const one = await startProbe(t, db, {
      probe,
      config: { ...engine, 'platform.scheduler.lease': `${leaseSeconds}s` },
    })
    await one.begun(1)
    const signal = probe.signals[0] as AbortSignal
    const beats = async () => {
      const [row] = await one.db.query<{ beat: number | string }>('select beat from scheduler_task where name = ?', [
        task,
      ])
      return Number(row?.beat)
    }
    await runUntilBeat({ clock: one.clock, signal, beats }, 12)
    t.equal(signal.aborted, false, 'signs of life keep the lease')

    await one.db.execute('update scheduler_task set fence = fence + 1, holder = ? where name = ?', ['thief:1', task])
    await one.clock.advance(6000)
    await until(() => signal.aborted, 'the signal aborts')
    t.match(signal.reason, { message: 'The lease of the task was lost.' })

    // The row becomes free and the task is due, but the run that lost its lease still continues on this instance.
    await one.db.execute('update scheduler_task set holder = null, beat = beat + 1 where name = ?', [task])
    for (let second = 0; second < 3; second++) {
      await one.clock.advance(1000)
      await one.passed()
    }
    // With BullMQ, another instance may find the due task and create a job, which this instance may receive.
    if (engine['platform.scheduler.engine'] === 'bullmq') await offerRun(engine, task)
    t.equal(probe.begun.length, 1, 'a task does not overlap itself on one instance')
    await one.db.execute('update scheduler_task set holder = ?, beat = beat + 1 where name = ?', ['thief:1', task])
    probe.end()
    await one.passed()
    const row = await one.db.query('select holder from scheduler_task where ended_at is null')
    assertMembers(t, row, [{ holder: 'thief:1' }], 'the row of the new holder is left alone')

    // Without a holder, the instance takes the lease again. Then its table disappears.
    await one.db.execute('update scheduler_task set holder = null, beat = beat + 1 where name = ?', [task])
    await one.clock.advance(1000)
    await one.begun(2)
    await one.db.execute('alter table scheduler_task rename to hidden_task')
    for (let second = 0; second < 18; second++) await one.clock.advance(1000)
    await until(() => probe.signals[1]?.aborted, 'the holder gives up before others may take over')
    await one.db.execute('alter table hidden_task rename to scheduler_task')
    probe.end()
    await until(async () => (await one.last())?.outcome === 'lost', 'it is recorded as lost')
  },
)

onEachDatabase(t, 'A11 if other work uses up the connection pool, no running task loses its lease', async (t, db) => {
  const probe = new Probe()
  probe.isQuick = false
  const settings = { 'platform.scheduler.lease': `${leaseSeconds}s`, 'platform.database.pool-size': 2 }
  const one = await startProbe(t, db, { probe, config: settings })
  await one.begun(1)
  const signal = probe.signals[0] as AbortSignal
  const beats = async () => {
    const statement = 'select beat from scheduler_task where name = ?'
    const [row] = await one.db.reserved.query<{ beat: number | string }>(statement, [task])
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
  await runUntilBeat({ clock: one.clock, signal, beats }, before + 6)
  t.equal(signal.aborted, false, 'the lease is kept')
  end.resolve()
  await Promise.all([common, ...holders.map((held) => held())])
  probe.end()
  await one.ended(1)
  t.hasStrict(await one.last(), { outcome: 'succeeded' })
})

onEachDatabase(t, 'a requested run that a stop interrupted is still requested', async (t, db) => {
  const [probe, next] = [new Probe(), new Probe()]
  probe.isQuick = false
  const config = { [autoKey]: false }
  const one = await startProbe(t, db, { config, probe })
  const other = await startProbe(t, db, { config, roles: ['web'] })
  await one.scheduler.runNow(task)
  await one.begun(1)
  const stopped = one.running.stop('deploy')
  await until(() => probe.signals[0]?.aborted, 'the signal aborts')
  probe.end()
  await stopped
  t.hasStrict(await other.last(), { cause: 'request', outcome: 'aborted' })
  t.match(await other.scheduler.get(task), { running: false, requested: true })
  const later = await startProbe(t, db, { config, probe: next })
  await later.ended(2)
  t.hasStrict(await later.last(), { cause: 'request', outcome: 'succeeded' })
  t.match(await other.scheduler.get(task), { requested: false })
})

onEachEngine('K-018 stopping begins nothing, aborts running tasks and gives them time', async (t, db, engine) => {
  const probe = new Probe()
  probe.isQuick = false
  const one = await startProbe(t, db, { config: engine, probe })
  const other = await startProbe(t, db, { config: engine, roles: ['web'] })
  await one.begun(1)
  const idle = await startProbe(t, db, { config: { ...engine, [autoKey]: false } })
  const stopped = one.running.stop('deploy')
  await until(() => probe.signals[0]?.aborted, 'the signal aborts')
  await idle.running.stop('deploy')
  t.equal(
    one.running.state,
    'draining',
    'it waits for the task, while an instance that began to stop later has stopped',
  )
  probe.end()
  await stopped
  t.hasStrict(await other.last(), { outcome: 'aborted' })
  t.match(await other.scheduler.get(task), { running: false })
  await other.scheduler.runNow(task)
  await one.clock.advance(10 * minute)
  t.equal(one.clock.sleepers, 0, 'nothing sleeps after the stop')
  const next = new Probe()
  const later = await startProbe(t, db, { config: { ...engine, [autoKey]: false }, probe: next })
  await later.ended(2)
  assertMembers(
    t,
    [probe.begun.length, next.begun.length],
    [1, 1],
    'what was asked for runs on the next instance, and there alone',
  )
})

onEachDatabase(t, 'a failed run is published on the event bus, together with its record', async (t, db) => {
  const reported: { payload: object; recorded: number }[] = []
  const listener = definePlugin({
    id: 'listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events, database },
    setup({ services }) {
      services.events.on(scheduledTaskFailed, 'listener', async ({ payload }) => {
        const [row] = await services.database.query<{ n: number }>(
          `select count(*) as n from scheduler_run where outcome = 'failed'`,
        )
        reported.push({ payload, recorded: Number(row?.n) })
      })
    },
  })
  const probe = new Probe()
  const one = await startProbe(t, db, { probe, plugins: [eventsPlugin, listener] })
  const runs = async (count: number, failure?: Error) => {
    probe.failure = failure
    await one.clock.advance(minute)
    await one.ended(count)
    await one.running.service(events).idle()
  }
  await one.ended(1)
  t.same(reported, [], 'a run that succeeds is not worth an event')
  await runs(2, new Error(`no access with ${secret}`))
  const { startedAt } = (await one.last()) as TaskRun
  await runs(3, new Error('again'))
  await runs(4)
  await runs(5, new Error('and again'))
  assertMembers(
    t,
    reported.map(({ payload }) => payload),
    [
      { task, error: /^no access with (?!hush)/, startedAt: startedAt.toISOString(), consecutiveFailures: 1 },
      { error: /^again$/, consecutiveFailures: 2 },
      { error: 'and again', consecutiveFailures: 1 },
    ],
  )
  t.same(
    reported.map(({ recorded }) => recorded),
    [1, 2, 3],
    'not before the run is recorded',
  )
  probe.isQuick = false
  await one.clock.advance(minute)
  await one.begun(6)
  const stopped = one.running.stop('deploy')
  await until(() => probe.signals[5]?.aborted, 'the signal aborts')
  probe.end(new Error('interrupted'))
  await stopped
  t.equal(reported.length, 3, 'a run that was aborted is no failure')
})

t.test('the engine bullmq without Redis is rejected with a fix', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const rejected = startProbe(t, db, { config: { 'platform.scheduler.engine': 'bullmq' } })
  await rejectsWith(t, rejected, {
    cause: { code: 'PLINTH_COORDINATION_NO_REDIS' },
    message: /"bullmq", but the product has no Redis/,
  })
})
