import { rateLimitJointCases, rateLimitStoreCases } from '@plinth/dev/conformance'
import { type ManualClock, manualClock, rejectsWith, startForTest, throwsWith } from '@plinth/dev/testing'
import { type Clock, definePlugin, defineProduct, type RateLimitRequest, rateLimitStore } from '@plinth/kernel'
import localTokenBucket, { LocalBucketStore } from '@plinth/rate-limit-stores/local-token-bucket'
import fc from 'fast-check'
import t from 'tap'

const create = (clock: ManualClock, changes: { cleanupInterval?: number; maxKeys?: number } = {}) =>
  new LocalBucketStore({ clock, cleanupInterval: 1024, maxKeys: 1_000_000, ...changes })
const request = (changes: Partial<RateLimitRequest> = {}): RateLimitRequest => ({
  key: 'account:1',
  limit: 60,
  windowMs: 60_000,
  cost: 1,
  ...changes,
})
const admitted = (store: LocalBucketStore, times: number, of = request()) =>
  Array.from({ length: times }, () => store.consume(of).allowed).filter(Boolean).length

t.test('R-033 R-108 the local token bucket obeys its contract: a key is only its bucket', async (t) => {
  const make = (clock: Clock) => {
    const store = new LocalBucketStore({ clock, cleanupInterval: 1024, maxKeys: 1_000_000 })
    return { store, entries: () => store.size }
  }
  const cases = [...rateLimitStoreCases(make), ...rateLimitJointCases(make)]
  for (const { name, run } of cases) t.test(name, run)
})

t.test('R-033 60 per minute means a burst of 60 and then one per second', async (t) => {
  const clock = manualClock()
  const store = create(clock)
  t.equal(admitted(store, 60), 60)
  t.match(store.consume(request()), { allowed: false, remaining: 0, retryAfterMs: 1000 })
  await clock.advance(999)
  t.match(store.consume(request()), { allowed: false, retryAfterMs: 1 })
  await clock.advance(1)
  t.equal(admitted(store, 2), 1, 'one second later exactly one passes')
  await clock.advance(3_600_000)
  t.equal(admitted(store, 61), 60, 'an idle hour saves up no more than the capacity')
  let allowed = 0
  for (let call = 0; call < 240; call++) {
    await clock.advance(500)
    allowed += admitted(store, 1)
  }
  t.equal(allowed, 120, 'one call every 500 ms for 120 s')
})

t.test('R-033 nothing is lost or gained by rounding, with any limit and window', async (t) => {
  const calls = fc.array(
    fc.record({ waitMs: fc.integer({ min: 0, max: 900 }), cost: fc.integer({ min: 1, max: 9 }) }),
    {
      minLength: 1,
      maxLength: 80,
    },
  )
  const sizes = [fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 5000 })] as const
  const property = fc.asyncProperty(...sizes, calls, async (limit, windowMs, steps) => {
    const clock = manualClock()
    const store = create(clock)
    // Model of the bucket in exact fractions, in units of 1 / windowMs.
    const capacity = BigInt(limit) * BigInt(windowMs)
    let level = capacity
    for (const { waitMs, cost } of steps) {
      await clock.advance(waitMs)
      level += BigInt(waitMs) * BigInt(limit)
      if (level > capacity) level = capacity
      const price = BigInt(cost) * BigInt(windowMs)
      const allowed = price <= level
      if (allowed) level -= price
      const decision = store.consume(request({ limit, windowMs, cost }))
      if (decision.allowed !== allowed || BigInt(decision.remaining) !== level / BigInt(windowMs)) return false
    }
    return true
  })
  await t.resolves(fc.assert(property, { numRuns: 150 }))
})

t.test('R-033 limits and windows too large for exact products never accept too many calls', async (t) => {
  const clock = manualClock()
  const store = create(clock)
  const huge = request({ limit: 1e9, windowMs: 30 * 86_400_000, cost: 1e9 })
  t.match(store.consume(huge), { allowed: true, remaining: 0 })
  await clock.advance(15 * 86_400_000)
  const { remaining } = store.peek({ ...huge, cost: 1e9 })
  t.ok(remaining <= 5e8 && remaining > 4.999e8, `half of it is back after half the window: ${remaining}`)
  await clock.advance(15 * 86_400_000 + 1000)
  t.equal(store.consume(huge).allowed, true)
  const most = request({ key: 'most', limit: Number.MAX_SAFE_INTEGER, windowMs: Number.MAX_SAFE_INTEGER, cost: 1 })
  t.match(store.consume(most), { allowed: true, remaining: Number.MAX_SAFE_INTEGER - 1 })
})

t.test('a bucket of another limit or window with the same key is another bucket; reset removes all', async (t) => {
  const clock = manualClock()
  const store = create(clock)
  const [small, large] = [request({ limit: 10 }), request({ limit: 20 })]
  t.equal(admitted(store, 11, small), 10)
  t.equal(admitted(store, 21, large), 20, 'a changed limit starts with a fresh bucket')
  t.equal(admitted(store, 1, small), 0, 'and the old one is not filled up by going back')
  t.equal(store.size, 1)
  store.reset('account:1')
  t.equal(admitted(store, 11, small), 10)
  t.equal(admitted(store, 21, large), 20)
})

t.test('R-034 idle buckets are purged in small steps, and used buckets are kept', async (t) => {
  const clock = manualClock()
  const store = create(clock)
  for (let index = 0; index < 10_000; index++) store.consume(request({ key: `once:${index}`, limit: 1 }))
  const often = request({ key: 'regular', limit: 1e6 })
  for (let call = 0; call < 20_000; call++) store.consume(often)
  t.equal(store.size, 10_001, 'a bucket that is not full again is in use')
  await clock.advance(60_000)
  let largestDrop = 0
  let calls = 0
  for (let before = store.size; store.size > 1 && calls < 20_000; before = store.size) {
    store.consume(often)
    calls += 1
    largestDrop = Math.max(largestDrop, before - store.size)
  }
  t.equal(store.size, 1, 'only the key in use is left')
  t.ok(largestDrop <= 256, `a call removes at most 256 keys (${largestDrop})`)

  const full = create(clock, { maxKeys: 100 })
  for (let index = 0; index < 100; index++) full.consume(request({ key: `k${index}` }))
  throwsWith(t, () => full.consume(request({ key: 'one too many' })), { message: /max-keys/ })
  t.equal(full.consume(request({ key: 'k0' })).remaining, 58, 'known keys go on')
  await clock.advance(60_000)
  t.equal(full.consume(request({ key: 'one too many' })).allowed, true, 'idle buckets make room at once')
})

t.test('expired buckets are removed after calls of a quarter of their number, whenever they expired', async (t) => {
  const cases = fc.record({
    entries: fc.integer({ min: 1, max: 8000 }),
    cleanupInterval: fc.integer({ min: 1, max: 1024 }),
    callsBetween: fc.integer({ min: 0, max: 3000 }),
    ends: fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 8 }),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ entries, cleanupInterval, callsBetween, ends }) => {
      const clock = manualClock()
      const store = create(clock, { cleanupInterval })
      const lasting = request({ key: 'lasting', limit: 1e6, windowMs: 86_400_000 })
      for (let index = 0; index < entries; index++) {
        store.consume(request({ key: `once:${index}`, windowMs: ends[index % ends.length] as number }))
      }
      // After a random number of calls, the purge may have reached any position in the table.
      for (let call = 0; call < callsBetween; call++) store.consume(lasting)
      await clock.advance(60_000)
      store.consume(lasting)
      const calls = Math.ceil(entries / 4) + 2 * cleanupInterval + 128
      for (let call = 0; call < calls; call++) {
        const before = store.size
        store.consume(lasting)
        if (before - store.size > 256) return t.fail(`one call removed ${before - store.size}`)
      }
      t.equal(store.size, 1, `of ${entries} after ${calls} calls`)
    }),
    { numRuns: 40 },
  )
})

t.test('R-028 R-030 R-031 the plugin provides the store with its own name unless it is disabled', async (t) => {
  const owner = definePlugin({
    id: 'test.owner',
    version: '1.0.0',
    kernel: '^1.0.0',
    extensionPoints: [rateLimitStore],
  })
  const product = defineProduct({ name: 'stores', plugins: [owner, localTokenBucket] })
  const prefix = 'platform.rate-limit.stores.local-token-bucket'
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  t.same([...running.contributions(rateLimitStore).keys()], ['local-token-bucket'])
  const store = running.contributions(rateLimitStore).get('local-token-bucket')
  t.match(store?.traits, { shared: false, algorithm: 'token-bucket' })
  const off = await startForTest(product, { set: { [`${prefix}.enabled`]: 'false' } })
  t.teardown(() => off.stop('test ended'))
  t.equal(off.contributions(rateLimitStore).size, 0)
  await rejectsWith(t, startForTest(product, { set: { [`${prefix}.provider`]: 'memory' } }), { message: /provider/ })
})
