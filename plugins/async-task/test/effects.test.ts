/** What keys of asynchronous tasks do that no other test is about. */
import { createDatabase } from '@plinth/database/testing'
import { manualClock, until } from '@plinth/kernel/testing'
import t from 'tap'
import { startTasks } from './fixtures/product.ts'

t.test('effect of platform.async-task.poll-interval: how often a worker looks', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const sleeps: number[] = []
  const { sleep } = clock
  clock.sleep = (ms, signal) => {
    sleeps.push(ms)
    return sleep(ms, signal)
  }
  await startTasks(t, db, { clock, config: { 'platform.async-task.poll-interval': '432ms' } })
  await until(() => sleeps.includes(432), 'it looks again after 432 ms')
})
