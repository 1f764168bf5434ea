import { rateLimitJointCases, rateLimitStoreCases } from '@plinth/dev/conformance'
import { type ManualClock, manualClock, rejectsWith, startForTest, throwsWith } from '@plinth/dev/testing'
import { type Clock, definePlugin, defineProduct, type RateLimitRequest, rateLimitStore } from '@plinth/kernel'
import memory, { MemoryStore } from '@plinth/rate-limit-stores/memory'
import fc from 'fast-check'
import t from 'tap'

const create = (clock: ManualClock, changes: { cleanupInterval?: number; maxKeys?: number } = {}) =>
  new MemoryStore({ clock, cleanupInterval: 1024, maxKeys: 1_000_000, ...changes })
const request = (changes: Partial<RateLimitRequest> = {}): RateLimitRequest => ({
  key: 'account:1',
  limit: 5,
  windowMs: 60_000,
  cost: 1,
  ...changes,
})

t.test('R-016 R-032 R-108 the memory store obeys its contract: a key is only its window', async (t) => {
  const make = (clock: Clock) => {
    const store = new MemoryStore({ clock, cleanupInterval: 1024, maxKeys: 1_000_000 })
    return { store, entries: () => store.size }
  }
  const cases = [...rateLimitStoreCases(make), ...rateLimitJointCases(make)]
  for (const { name, run } of cases) t.test(name, run)
})

t.test('R-007 R-008 R-009 R-016 a window starts with its first call and is never extended', async (t) => {
  const clock = manualClock(Date.UTC(2026, 0, 1, 0, 0, 59, 900))
  const store = create(clock)
  const first = clock.now()
  const seen = []
  for (let call = 0; call < 6; call++) {
    seen.push(store.consume(request()))
    await clock.advance(100)
  }
  t.same(
    seen.map(({ remaining }) => remaining),
    [4, 3, 2, 1, 0, 0],
  )
  t.same(
    seen.map(({ allowed }) => allowed),
    [true, true, true, true, true, false],
  )
  t.same([...new Set(seen.map(({ resetAtMs }) => resetAtMs))], [first + 60_000], 'not aligned to the clock minute')
  t.equal(seen.at(-1)?.retryAfterMs, 59_500)
  clock.shiftWallClock(3_600_000)
  t.equal(store.consume(request()).resetAtMs, first + 60_000, 'the shown moment stays what it was')
  await clock.advance(59_399)
  t.equal(store.consume(request()).allowed, false, 'one millisecond early')
  await clock.advance(1)
  t.match(store.consume(request()), { allowed: true, remaining: 4 })
})

t.test('up to twice the limit can pass around the end of a window, and no more', async (t) => {
  const clock = manualClock()
  const store = create(clock)
  const admitted = (times: number) =>
    Array.from({ length: times }, () => store.consume(request()).allowed).filter(Boolean).length
  t.equal(admitted(1), 1)
  await clock.advance(59_990)
  t.equal(admitted(4), 4)
  await clock.advance(11)
  t.equal(admitted(6), 5)
})

t.test('R-013 no interval of one window accepts more than twice the limit, whatever the costs', async (t) => {
  const steps = fc.array(
    fc.record({ waitMs: fc.integer({ min: 0, max: 1500 }), cost: fc.integer({ min: 1, max: 12 }) }),
    {
      maxLength: 60,
    },
  )
  const property = fc.asyncProperty(fc.integer({ min: 1, max: 10 }), steps, async (limit, calls) => {
    let elapsed = 0
    const store = new MemoryStore({
      clock: { now: () => elapsed, monotonic: () => elapsed, sleep: async () => {} },
      cleanupInterval: 1,
      maxKeys: 10,
    })
    const hits: { at: number; cost: number }[] = []
    for (const { waitMs, cost } of calls) {
      elapsed += waitMs
      const decision = store.consume(request({ limit, cost, windowMs: 1000 }))
      if (decision.allowed) hits.push({ at: elapsed, cost })
      const recent = hits.filter(({ at }) => at > elapsed - 1000).reduce((sum, hit) => sum + hit.cost, 0)
      if (recent > 2 * limit || decision.remaining < 0 || decision.remaining > limit) return false
    }
    return true
  })
  await t.resolves(fc.assert(property, { numRuns: 300 }))
})

t.test('R-007 a limit that becomes lower than the used quota leaves 0, never less', async (t) => {
  const store = create(manualClock())
  store.consume(request({ cost: 5 }))
  t.match(store.peek(request({ limit: 3 })), { allowed: false, remaining: 0 })
  t.match(store.consume(request({ limit: 6 })), { allowed: true, remaining: 0 })
})

t.test('R-016 rules of one key with different windows never change the decision of another rule', async (t) => {
  const rule = fc.record({
    windowMs: fc.constantFrom(1, 1000, 60_000, 3_600_000),
    limit: fc.integer({ min: 1, max: 6 }),
  })
  const rules = fc.uniqueArray(rule, { minLength: 2, maxLength: 4, selector: ({ windowMs }) => windowMs })
  const step = fc.record({
    rule: fc.nat(3),
    cost: fc.integer({ min: 1, max: 7 }),
    take: fc.boolean(),
    waitMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constantFrom(1, 500, 1000, 59_999, 3_600_000)),
  })
  const property = fc.asyncProperty(rules, fc.array(step, { maxLength: 60 }), async (rules, steps) => {
    const clock = manualClock()
    const together = create(clock, { cleanupInterval: 1 })
    const alone = rules.map(() => create(clock))
    for (const { rule, cost, take, waitMs } of steps) {
      const index = rule % rules.length
      const of = { key: 'one', ...(rules[index] as (typeof rules)[number]), cost }
      const ask = (store: MemoryStore) => (take ? store.consume(of) : store.peek(of))
      const [decided, expected] = [ask(together), ask(alone[index] as MemoryStore)]
      if (JSON.stringify(decided) !== JSON.stringify(expected)) return false
      await clock.advance(waitMs)
    }
    together.reset('one')
    return together.size === 0
  })
  await t.resolves(fc.assert(property, { numRuns: 300 }))
})

t.test('R-027 R-032 a purge starts every cleanup-interval calls and never delays calls for long', async (t) => {
  const clock = manualClock()
  const store = create(clock)
  const often = request({ key: 'regular', limit: 1e9 })
  for (let generation = 0; generation < 5; generation++) {
    for (let index = 0; index < 10_000; index++) store.consume(request({ key: `once:${generation}:${index}` }))
    t.ok(store.size >= 10_000)
    await clock.advance(60_000)
    let calls = 0
    let largestDrop = 0
    for (let before = store.size; store.size > 1 && calls < 20_000; before = store.size) {
      store.consume(often)
      calls += 1
      largestDrop = Math.max(largestDrop, before - store.size)
    }
    t.equal(store.size, 1, 'only the key in use is left')
    t.ok(largestDrop <= 256, `a call removes at most 256 windows, not all at once (${largestDrop})`)
    // Maximum number of calls: one interval, one step for every 256 windows, and a pass that started before the windows
    // expired.
    const bound = 1024 + 32 * (Math.ceil(10_000 / 256) + Math.ceil(10_000 / 512) + 1)
    t.ok(calls <= bound, `after ${calls} calls: room of the dead is used again, so a purge never gets longer`)
  }

  const eager = create(clock, { cleanupInterval: 1 })
  for (let index = 0; index < 50; index++) eager.consume(request({ key: `once:${index}` }))
  await clock.advance(60_000)
  for (let call = 0; call < 3; call++) eager.consume(often)
  t.equal(eager.size, 1, 'an interval of 1 purges with every call')
})

t.test('a sweep removes the windows that have expired and keeps the valid ones', async (t) => {
  const clock = manualClock()
  const store = create(clock)
  store.consume(request({ key: 'short', windowMs: 1000 }))
  store.consume(request({ key: 'long' }))
  await clock.advance(1000)
  t.equal(store.sweep(), false, 'two windows are one step')
  t.equal(store.size, 1)
  t.equal(store.peek(request({ key: 'long' })).remaining, 3, 'the call of the valid window still counts')
})

t.test('expired windows are removed after calls of a quarter of their number, whenever they expired', async (t) => {
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

t.test('above max-keys a new key is an error, and known keys continue', async (t) => {
  const clock = manualClock()
  const store = create(clock, { maxKeys: 100 })
  for (let index = 0; index < 100; index++) store.consume(request({ key: `k${index}` }))
  throwsWith(t, () => store.consume(request({ key: 'one too many' })), { message: /max-keys/ })
  t.equal(store.consume(request({ key: 'k0' })).remaining, 3)
  t.equal(store.peek(request({ key: 'one too many' })).allowed, true)
  await clock.advance(60_000)
  t.equal(store.consume(request({ key: 'one too many' })).allowed, true, 'expired windows make room at once')
  t.ok(store.size <= 100)
  store.reset('one too many')
  t.equal(store.peek(request({ key: 'one too many' })).remaining, 4)
})

t.test('joint limits without room for all of them take nothing', async (t) => {
  const clock = manualClock()
  const store = create(clock, { maxKeys: 3 })
  store.consume(request({ key: 'k0' }))
  store.consume(request({ key: 'k1' }))
  const pair = ['a', 'b'].map((key) => request({ key }))
  throwsWith(t, () => store.consumeAll(pair), { message: /max-keys/ })
  t.equal(store.size, 2)
  t.equal(store.consumeAll([request({ key: 'k0' }), request({ key: 'a' })]).length, 2)
  await clock.advance(60_000)
  t.ok(
    store.consumeAll(pair).every(({ allowed }) => allowed),
    'expired windows make room at once',
  )
})

t.test('R-030 the plugin provides the store with its own name', async (t) => {
  const owner = definePlugin({
    id: 'test.owner',
    version: '1.0.0',
    kernel: '^1.0.0',
    extensionPoints: [rateLimitStore],
  })
  const product = defineProduct({ name: 'stores', plugins: [owner, memory] })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  t.same([...running.contributions(rateLimitStore).keys()], ['memory'])
  t.match(running.contributions(rateLimitStore).get('memory')?.traits, { shared: false, algorithm: 'fixed-window' })
  await rejectsWith(t, startForTest(product, { set: { 'platform.rate-limit.stores.memory.provider': 'redis' } }), {
    code: 'PLINTH_START_REFUSED',
    message: /provider/,
  })
})
