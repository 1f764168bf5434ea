import { manualClock } from '@plinth/dev/testing'
import type { ConsumeRequest } from '@plinth/rate-limit'
import memory from '@plinth/rate-limit-stores/memory'
import t, { type Test } from 'tap'
import { remoteStore, startLimiter, storePlugin } from './fixtures/limiter.ts'

async function startRemote(t: Test, set: Record<string, string> = {}) {
  const clock = manualClock()
  const remote = remoteStore('remote', clock)
  const started = await startLimiter(t, [remote.plugin, memory], { 'default-store': 'remote', ...set }, clock)
  const consume = (changes: Partial<ConsumeRequest> = {}) =>
    started.limiter.consume({ key: 'k', maxAttempts: 2, windowMs: 10_000, ...changes })
  return { ...started, remote, consume }
}

t.test('a key that a shared store has denied is denied from memory for a while', async (t) => {
  const { consume, remote, clock, limiter, counted } = await startRemote(t)
  for (let call = 0; call < 3; call++) await consume()
  await clock.advance(400)
  const before = remote.calls.length
  for (let call = 0; call < 100; call++) {
    t.match(await consume(), { allowed: false, remaining: 0, limit: 2, retryAfter: 9600, key: 'rate-limit:k' })
  }
  t.equal(remote.calls.length, before)
  t.match(await counted('requests'), { 'remote/rejected': 101 })
  await limiter.peek({ key: 'k', maxAttempts: 2 })
  t.equal(remote.calls.length, before + 1, 'a look always asks')
  await clock.advance(600)
  t.equal((await consume()).retryAfter, 9000)
  t.equal(remote.calls.length, before + 2, 'after the time to live it asks again')
})

t.test('never longer than the store allows, and not for another limit, window or smaller cost', async (t) => {
  const { consume, remote, clock } = await startRemote(t)
  const asks = async (changes: Partial<ConsumeRequest>) => {
    const before = remote.calls.length
    await consume(changes)
    return remote.calls.length > before
  }
  await consume()
  t.equal((await consume({ cost: 2 })).allowed, false)
  t.equal(await asks({ cost: 2 }), false)
  t.equal(await asks({ cost: 3 }), false, 'what costs more is denied too')
  t.equal(await asks({ cost: 1 }), true, 'what costs less may pass')
  t.equal(await asks({ maxAttempts: 3, cost: 2 }), true)
  t.equal(await asks({ windowMs: 20_000, cost: 2 }), true)
  t.equal(await asks({ key: 'other', cost: 2 }), true)

  for (let call = 0; call < 2; call++) await consume({ key: 'short', windowMs: 300 })
  t.match(await consume({ key: 'short', windowMs: 300 }), { allowed: false, retryAfter: 300 })
  await clock.advance(299)
  t.match(await consume({ key: 'short', windowMs: 300 }), { allowed: false, retryAfter: 1 })
  await clock.advance(1)
  t.equal((await consume({ key: 'short', windowMs: 300 })).allowed, true, 'a new window counts at once')
})

t.test('a bucket is denied from memory only for the same cost, and no longer than its wait', async (t) => {
  const bucket = storePlugin(
    'bucket',
    async ({ cost }) => ({ allowed: false, remaining: 0, resetAtMs: 0, retryAfterMs: cost * 100 }),
    { traits: { shared: true, algorithm: 'token-bucket' } },
  )
  const { limiter, clock } = await startLimiter(t, [bucket.plugin], { 'default-store': 'bucket' })
  const consume = async (cost: number) => {
    const before = bucket.asked.length
    await limiter.consume({ key: 'k', cost })
    return bucket.asked.length - before
  }
  t.equal(await consume(2), 1)
  t.equal(await consume(2), 0)
  t.equal(await consume(3), 1, 'more waits longer than the store told')
  t.equal(await consume(3), 0)
  await clock.advance(300)
  t.equal(await consume(3), 1)
})

t.test('a reset applies immediately, also to a denial in progress', async (t) => {
  const { consume, limiter } = await startRemote(t)
  for (let call = 0; call < 3; call++) await consume()
  await limiter.reset({ key: 'k' })
  t.match(await consume(), { allowed: true, remaining: 1 })
  await consume()
  const denied = consume()
  await limiter.reset({ key: 'k' })
  t.equal((await denied).allowed, false)
  t.match(await consume(), { allowed: true, remaining: 1 })
})

t.test('0s always calls the store; local stores are always called; the memory is limited', async (t) => {
  const { consume, remote, limiter } = await startRemote(t, { 'deny-cache.ttl': '0s' })
  for (let call = 0; call < 5; call++) await consume()
  t.equal(remote.calls.length, 5)
  for (let call = 0; call < 5; call++) await limiter.consume({ key: 'k', maxAttempts: 1, store: 'memory' })
  const local = await startRemote(t)
  const deny = (key: string) => local.consume({ key, maxAttempts: 1, cost: 2 })
  for (let index = 0; index <= 10_000; index++) await deny(`k${index}`)
  const before = local.remote.calls.length
  await deny('k1')
  t.equal(local.remote.calls.length, before)
  await deny('k0')
  t.equal(local.remote.calls.length, before + 1, 'the oldest of more than 10000 is forgotten')
})
