/** What keys of the open platform do that no other test is about. */
import { createDatabase } from '@plinth/database/testing'
import { manualClock } from '@plinth/kernel/testing'
import t from 'tap'
import { startOpen } from './fixtures/product.ts'

t.test('effect of platform.open-platform.metering.flush-interval: how soon calls are written', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const sleeps: number[] = []
  const { sleep } = clock
  clock.sleep = (ms, signal) => {
    sleeps.push(ms)
    return sleep(ms, signal)
  }
  const config = { 'platform.open-platform.metering.flush-interval': '4321ms' }
  const { adminToken, createApp, signed } = await startOpen(t, db, { clock, config })
  await signed(await createApp(await adminToken()))
  await clock.advance(0)
  t.ok(sleeps.includes(4321), `${sleeps}`)
})
