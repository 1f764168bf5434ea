/** What keys of the limiter do that no other test is about. */
import { manualClock } from '@plinth/kernel/testing'
import memory from '@plinth/rate-limit-stores/memory'
import t from 'tap'
import { remoteStore, startLimiter, storePlugin } from './fixtures/limiter.ts'

t.test('effect of platform.rate-limit.deny-cache.ttl: how long a denial is not asked for again', async (t) => {
  for (const [ttl, asksAgain] of [
    ['0s', true],
    ['5s', false],
  ] as const) {
    const clock = manualClock()
    const remote = remoteStore('remote', clock)
    const set = { 'default-store': 'remote', 'deny-cache.ttl': ttl }
    const { limiter } = await startLimiter(t, [remote.plugin, memory], set, clock)
    const consume = () => limiter.consume({ key: 'k', maxAttempts: 1, windowMs: 60_000 })
    await consume()
    await consume()
    await clock.advance(4000)
    const before = remote.calls.length
    t.equal((await consume()).allowed, false)
    t.equal(remote.calls.length > before, asksAgain, ttl)
  }
})

t.test('effect of platform.rate-limit.key-prefix: what all keys begin with', async (t) => {
  const { limiter } = await startLimiter(t, [memory], { 'key-prefix': 'mall' })
  t.equal((await limiter.consume({ key: 'orders' })).key, 'mall:orders')
})

t.test('effect of platform.rate-limit.store-deadline: how long a store may take', async (t) => {
  const clock = manualClock()
  const slow = storePlugin('slow', () => new Promise(() => {}))
  const set = { 'default-store': 'slow', 'store-deadline': '777ms', 'failure-policy': 'closed' }
  const { limiter } = await startLimiter(t, [slow.plugin], set, clock)
  let answer: unknown
  const asked = limiter.consume({ key: 'k' }).catch((error: unknown) => {
    answer = error
  })
  await clock.advance(700)
  t.equal(answer, undefined)
  await clock.advance(200)
  await asked
  t.match(answer, { code: '503' })
})
