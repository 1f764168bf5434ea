/** Tests the effect of each configuration key of the scheduler. */

import { assertKeyEffect, type KeyValues, manualClock, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { Probe, probePlugin } from './fixtures/probe-task.ts'
import { startScheduler } from './fixtures/products.ts'

async function startProbe(config: KeyValues) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const sleeps: number[] = []
  const { sleep } = clock
  clock.sleep = (ms, ...others) => {
    sleeps.push(ms)
    return sleep(ms, ...others)
  }
  const probe = new Probe()
  const product = await startScheduler(t, db, { clock, config, plugins: [probePlugin(probe)] })
  return { ...product, probe, sleeps }
}

t.test('a worker polls at the interval', async (t) => {
  const [polls] = await assertKeyEffect(t, 'platform.scheduler.poll-interval', {
    changed: '432ms',
    observe: async (config) => {
      const { sleeps } = await startProbe(config)
      await until(() => sleeps.includes(15_000), 'the task has run, and half of the lease is awaited')
      return sleeps.includes(432)
    },
  })
  t.match(polls, { before: false, after: true })
})

t.test('a run renews its lease', async (t) => {
  const [beats] = await assertKeyEffect(t, 'platform.scheduler.lease', {
    changed: '8s',
    observe: async (config) => {
      const { clock, db, probe } = await startProbe(config)
      probe.isQuick = false
      await until(() => probe.begun.length === 1, 'the task runs')
      await clock.advance(3_000)
      for (let count = 0; count < 10; count++) await db.query('select 1 as one')
      const [row] = await db.query<{ beat: number }>('select beat from scheduler_task')
      probe.end()
      return Number(row?.beat) > 0
    },
  })
  t.match(beats, { before: false, after: true })
})

t.test('the newest runs of a task are stored', async (t) => {
  const [counts] = await assertKeyEffect(t, 'platform.scheduler.history.size', {
    changed: 10,
    observe: async (config) => {
      const { clock, db, probe, scheduler } = await startProbe(config)
      const stored = async () => (await scheduler.history('probe.task', {}, { size: 50 })).items
      const newestHasEnded = async () => (await stored())[0]?.endedAt != null
      for (let runs = 1; runs <= 20; runs++) {
        await until(async () => probe.begun.length === runs && (await newestHasEnded()), `run ${runs} has ended`)
        if (runs < 20) await clock.advance(60_000)
      }
      // Old runs are removed shortly after every tenth run has ended.
      for (let polls = 0; polls < 50 && (await stored()).length > 10; polls++) await db.query('select 1 as one')
      return (await stored()).length
    },
  })
  t.match(counts, { before: 20, after: 10 })
})

t.test('the configured engine runs the tasks', async (t) => {
  const [engines] = await assertKeyEffect(t, 'platform.scheduler.engine', {
    changed: 'bullmq',
    observe: (config) =>
      startProbe(config).then(
        () => 'started',
        ({ cause }: { cause: { code: string } }) => cause.code,
      ),
  })
  t.same([engines?.before, engines?.after], ['started', 'PLINTH_COORDINATION_NO_REDIS'])
})
