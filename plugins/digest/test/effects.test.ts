/** Tests the effect of each configuration key of digests. */
import { assertKeyEffect, type KeyValues, manualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { startDigests } from './fixtures/product.ts'

async function sqlite() {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return db
}

t.test('a process polls for digests at the interval, if it sends', async (t) => {
  const oddMs = 1_234
  const polls = async (config: KeyValues) => {
    const clock = manualClock()
    const sleeps: number[] = []
    const { sleep } = clock
    clock.sleep = (ms, ...others) => {
      sleeps.push(ms)
      return sleep(ms, ...others)
    }
    const { db } = await startDigests(t, await sqlite(), {
      clock,
      config: { 'platform.digest.auto-startup': true, ...config },
    })
    for (let count = 0; count < 20; count++) await db.query('select 1 as one')
    return sleeps.includes(oddMs)
  }
  const interval = 'platform.digest.poll-interval'
  const [intervals] = await assertKeyEffect(t, 'platform.digest.poll-interval', {
    changed: `${oddMs}ms`,
    observe: polls,
  })
  t.match(intervals, { before: false, after: true })
  const [starts] = await assertKeyEffect(t, 'platform.digest.auto-startup', {
    changed: false,
    observe: (config) => polls({ [interval]: `${oddMs}ms`, ...config }),
  })
  t.match(starts, { before: true, after: false })
})

t.test('digests are removed after their retention', async (t) => {
  const [counts] = await assertKeyEffect(t, 'platform.digest.retention', {
    changed: '2d',
    observe: async (config) => {
      const clock = manualClock()
      const { running, digests, define, close, db } = await startDigests(t, await sqlite(), { clock, config })
      await define('news')
      await digests.add({ digest: 'news', userIds: [11] })
      clock.shiftWallClock(3_600_000)
      await close()
      clock.shiftWallClock(3 * 86_400_000)
      const purge = running.scheduledTasks.find(({ name }) => name === 'digest.purge')
      await purge?.run(new AbortController().signal)
      return (await db.query('select id from digest_item')).length
    },
  })
  t.match(counts, { before: 1, after: 0 })
})
