/** What keys of the scheduler do that no other test is about. */
import { createDatabase } from '@plinth/database/testing'
import { manualClock, until } from '@plinth/kernel/testing'
import t from 'tap'
import { Probe, probePlugin } from './fixtures/probe-task.ts'
import { startScheduler } from './fixtures/products.ts'

t.test('effect of platform.scheduler.poll-interval: how often a worker looks', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const sleeps: number[] = []
  const { sleep } = clock
  clock.sleep = (ms, signal) => {
    sleeps.push(ms)
    return sleep(ms, signal)
  }
  const config = { 'platform.scheduler.poll-interval': '432ms' }
  await startScheduler(t, db, { clock, config, plugins: [probePlugin(new Probe())] })
  await until(() => sleeps.includes(432), 'it looks again after 432 ms')
})
