/** Tests the effect of each configuration key of asynchronous tasks. */

import { taskType } from '@plinth/async-task'
import { assertKeyEffect, assertMembers, type KeyValues, manualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { Type } from 'typebox'
import { Probe, reportTaskType, startTasks } from './fixtures/product.ts'

const minute = 60_000

async function sqlite() {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return db
}

/** Starts a product with tasks whose handler runs until the test releases it. */
async function startProbe(config: KeyValues) {
  const probe = new Probe()
  const started = await startTasks(t, await sqlite(), {
    config,
    handle: (tasks) => tasks.handle(reportTaskType, probe.handle),
  })
  t.teardown(() => probe.release())
  return { ...started, probe }
}

t.test('a full queue rejects tasks', async (t) => {
  /** Submits five tasks and returns the reasons why tasks were rejected. */
  const observe =
    (ownerOf: (index: number) => number, others: KeyValues = {}) =>
    async (config: KeyValues) => {
      const { tasks, probe } = await startProbe({ 'platform.async-task.concurrency': 1, ...others, ...config })
      const found = []
      for (let index = 0; index < 5; index++) {
        const submitted = tasks.submit(reportTaskType, { rows: 1 }, { ownerId: ownerOf(index) }).then(
          () => 'submitted',
          ({ reason }: { reason: string }) => reason,
        )
        found.push(await submitted)
        if (index === 0) await probe.begun(1)
      }
      return found.filter((reason) => reason !== 'submitted')
    }
  const [capacity] = await assertKeyEffect(t, 'platform.async-task.queue.capacity', {
    changed: 3,
    observe: observe((index) => index + 1),
  })
  t.same([capacity?.before, capacity?.after], [[], ['async-task.queue-full']])
  const [perOwner] = await assertKeyEffect(t, 'platform.async-task.queue.per-owner', {
    changed: 3,
    observe: observe(() => 1),
  })
  t.same([perOwner?.before, perOwner?.after], [[], ['async-task.owner-limit', 'async-task.owner-limit']])
})

t.test('some tasks run at the same time', async (t) => {
  const [most] = await assertKeyEffect(t, 'platform.async-task.concurrency', {
    compared: 2,
    changed: 1,
    observe: async (config, key) => {
      const { tasks, probe, db } = await startProbe(config)
      for (const ownerId of [1, 2, 3]) await tasks.submit(reportTaskType, { rows: 1 }, { ownerId })
      await probe.begun(Number(config[key]))
      for (let count = 0; count < 20; count++) await db.query('select 1 as one')
      return probe.maxConcurrent
    },
  })
  t.match(most, { before: 2, after: 1 })
})

t.test('tasks that wait for other servers have their own slots, and delay no other task', async (t) => {
  const fetchTask = taskType('test.fetch', { displayName: 'Fetch', params: Type.Object({}), lane: 'network' })
  const [most] = await assertKeyEffect(t, 'platform.async-task.network-concurrency', {
    changed: 2,
    observe: async (config, key) => {
      const slots = Number(config[key] ?? 4)
      const end = Promise.withResolvers<void>()
      const full = Promise.withResolvers<void>()
      let begun = 0
      const { tasks, reaches } = await startTasks(t, await sqlite(), {
        config,
        handle: (tasks) => {
          tasks.handle(fetchTask, () => {
            if (++begun === slots) full.resolve()
            return end.promise
          })
          tasks.handle(reportTaskType, () => {})
        },
      })
      for (let ownerId = 1; ownerId <= 12; ownerId++) await tasks.submit(fetchTask, {}, { ownerId })
      await full.promise
      await reaches((await tasks.submit(reportTaskType, { rows: 1 }, { ownerId: 1 })).id, 'succeeded')
      const running = begun
      end.resolve()
      return running
    },
  })
  t.match(most, { before: 4, after: 2 })
})

t.test('a task is cancelled at its deadline', async (t) => {
  const [aborted] = await assertKeyEffect(t, 'platform.async-task.deadline', {
    changed: '10m',
    observe: async (config) => {
      const { tasks, probe, clock } = await startProbe({ 'platform.async-task.lease': '1h', ...config })
      await tasks.submit(reportTaskType, { rows: 1 }, { ownerId: 1 })
      const { signal } = await probe.begun(1)
      await clock.advance(10 * minute)
      return signal.aborted
    },
  })
  t.match(aborted, { before: false, after: true })
})

t.test('a finished task is stored as long as its retention', async (t) => {
  const [counts] = await assertKeyEffect(t, 'platform.async-task.retention', {
    changed: '1h',
    observe: async (config) => {
      const { tasks, clock, reaches, running } = await startTasks(t, await sqlite(), {
        config,
        handle: (tasks) => tasks.handle(reportTaskType, () => {}),
      })
      await reaches((await tasks.submit(reportTaskType, { rows: 1 }, { ownerId: 1 })).id, 'succeeded')
      clock.shiftWallClock(120 * minute)
      const purge = running.scheduledTasks.find(({ name }) => name === 'async-task.purge')
      await purge?.run(new AbortController().signal)
      return (await tasks.list({}, { size: 10, count: 'exact' })).total
    },
  })
  t.match(counts, { before: 1, after: 0 })
})

t.test('the configured engine runs the tasks', async (t) => {
  const [engines] = await assertKeyEffect(t, 'platform.async-task.engine', {
    changed: 'bullmq',
    observe: async (config) =>
      startTasks(t, await sqlite(), { config, clock: manualClock() }).then(
        () => 'started',
        ({ cause }: { cause: { code: string } }) => cause.code,
      ),
  })
  t.same([engines?.before, engines?.after], ['started', 'PLINTH_COORDINATION_NO_REDIS'])
})

t.test('a worker polls at the interval', async (t) => {
  const [polls] = await assertKeyEffect(t, 'platform.async-task.poll-interval', {
    changed: '432ms',
    observe: async (config) => {
      const clock = manualClock()
      const sleeps: number[] = []
      const { sleep } = clock
      clock.sleep = (ms, ...others) => {
        sleeps.push(ms)
        return sleep(ms, ...others)
      }
      const { passed } = await startTasks(t, await sqlite(), { clock, config })
      await passed()
      return sleeps.includes(432)
    },
  })
  t.match(polls, { before: false, after: true })
})

t.test('the task of a dead instance is taken over', async (t) => {
  /**
   * Returns the state of a task whose instance died in the second attempt, and the number of attempts that this
   * instance started.
   */
  const observe = (seconds: number) => async (config: KeyValues) => {
    const [db, clock, probe] = [await sqlite(), manualClock(), new Probe()]
    const web = await startTasks(t, db, {
      clock,
      config,
      roles: ['web'],
      handle: (tasks) => tasks.handle(reportTaskType, () => {}),
    })
    const { id } = await web.tasks.submit(reportTaskType, { rows: 1 }, { ownerId: 1 })
    await web.db.execute(
      `update async_task set status = 'running', holder = 'dead:1', fence = fence + 1, attempts = 2, started_at = ?`,
      [new Date(clock.now())],
    )
    const { passed } = await startTasks(t, db, {
      clock,
      config,
      handle: (tasks) => tasks.handle(reportTaskType, probe.handle),
    })
    t.teardown(() => probe.release())
    await passed()
    await clock.advance(seconds * 1_000)
    await passed()
    return [(await web.tasks.get(id)).status, ...probe.runs.map(({ attempt }) => attempt)]
  }
  const [lease] = await assertKeyEffect(t, 'platform.async-task.lease', { changed: '10s', observe: observe(15) })
  assertMembers(t, lease, { before: ['running'], after: ['running', 3] })
  const [attempts] = await assertKeyEffect(t, 'platform.async-task.max-attempts', { changed: 2, observe: observe(31) })
  assertMembers(t, attempts, { before: ['running', 3], after: ['failed'] })
})
