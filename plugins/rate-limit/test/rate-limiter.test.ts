import { createHash } from 'node:crypto'
import { assertMembers, manualClock, rejectsWith, startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, type RateLimitDecision, rateLimitStore } from '@plinth/kernel'
import rateLimit, { type ConsumeRequest, rateLimiter } from '@plinth/rate-limit'
import memory, { MemoryStore } from '@plinth/rate-limit-stores/memory'
import fc from 'fast-check'
import t from 'tap'
import { allowConsume, remoteStore, startLimiter, storePlugin } from './fixtures/limiter.ts'

t.test(
  'R-001 R-003 R-004 R-005 R-007 R-010 R-021 consume takes quota and returns a result, also for a denial',
  async (t) => {
    const { limiter, clock } = await startLimiter(t)
    const request = { key: 'login:account', maxAttempts: 2, windowMs: 30_000 }
    const resetAt = clock.now() + 30_000
    const key = 'rate-limit:login:account'
    t.same(await limiter.consume(request), { allowed: true, key, limit: 2, remaining: 1, resetAt, retryAfter: 0 })
    await clock.advance(10_000)
    t.same(await limiter.consume(request), { allowed: true, key, limit: 2, remaining: 0, resetAt, retryAfter: 0 })
    t.same(await limiter.consume(request), { allowed: false, key, limit: 2, remaining: 0, resetAt, retryAfter: 20_000 })
    await clock.advance(20_000)
    t.match(await limiter.consume(request), { allowed: true, remaining: 1 })
  },
)

t.test('R-011 R-013 R-043 the cost is 1 by default; a denied call takes nothing', async (t) => {
  const { limiter } = await startLimiter(t)
  const costing = (cost: number) => limiter.consume({ key: 'export', maxAttempts: 10, cost })
  t.match(await costing(5), { allowed: true, remaining: 5 })
  t.match(await costing(6), { allowed: false, remaining: 5 })
  t.match(await costing(11), { allowed: false, remaining: 5 })
  t.match(await costing(5), { allowed: true, remaining: 0 })
})

t.test('R-012 C-022 assertAllowed throws the too-many-requests error', async (t) => {
  const { limiter } = await startLimiter(t)
  const request = { key: 'sms', maxAttempts: 1, windowMs: 1500 }
  t.equal((await limiter.assertAllowed(request)).allowed, true)
  await rejectsWith(t, limiter.assertAllowed(request), {
    name: 'BusinessError',
    code: '429',
    reason: 'rate-limit.exceeded',
    messageKey: 'messages.rate-limit.exceeded.seconds',
    params: { wait: 2 },
    data: { retryAfter: 2 },
  })
})

t.test('R-001 R-003 consume and assertAllowed take key, attempts and window as arguments', async (t) => {
  const { limiter, clock } = await startLimiter(t)
  const resetAt = clock.now() + 60_000
  const expected = { allowed: true, key: 'rate-limit:a', limit: 2, remaining: 1, resetAt, retryAfter: 0 }
  t.same(await limiter.consume('a', 2, 60_000), expected)
  t.same(await limiter.assertAllowed('a', 2, '1m'), { ...expected, remaining: 0 })
  t.match(await limiter.consume({ key: 'a', maxAttempts: 2, windowMs: 60_000 }), { allowed: false }, 'the same quota')
  await rejectsWith(t, limiter.assertAllowed('a', 2, '1m'), { code: '429', reason: 'rate-limit.exceeded' })
  for (const window of ['soon', '', undefined as unknown as string])
    await rejectsWith(t, limiter.consume('a', 2, window), { name: 'RangeError' })
  await rejectsWith(t, limiter.consume('a', undefined as unknown as number, 1_000), { name: 'RangeError' })
  await rejectsWith(t, limiter.consume('', 2, 1_000), { name: 'RangeError' })
})

t.test('for a cost above the limit the result shows that waiting does not help', async (t) => {
  const { limiter } = await startLimiter(t)
  const request = { key: 'a:b', maxAttempts: 5, windowMs: 60_000, cost: 6 }
  const denial = { allowed: false, remaining: 5, retryAfter: 0, exceedsLimit: true }
  t.match(await limiter.consume(request), denial)
  t.match(await limiter.peek(request), denial)
  assertMembers(t, (await limiter.consumeAll([request])).results, [denial])
  t.match(await limiter.declare({ maxAttempts: 5, windowMs: 60_000 }).consume('a:b', 6), denial)
  const error = { code: '429', reason: 'rate-limit.cost-exceeds-limit', data: undefined }
  await rejectsWith(t, limiter.assertAllowed(request), error)
  await rejectsWith(t, limiter.assertAllAllowed([{ key: 'other', maxAttempts: 5 }, request]), error)
  t.match(await limiter.consume({ ...request, cost: 5 }), { allowed: true, remaining: 0, exceedsLimit: undefined })
})

t.test('a harmless request is returned, and a failing store has no effect on its caller', async (t) => {
  const clock = manualClock()
  const remote = remoteStore('remote', clock)
  const { limiter } = await startLimiter(t, [memory, remote.plugin], {}, clock)
  for (const store of ['memory', 'remote']) {
    const request = { key: 'a', maxAttempts: 2, windowMs: 60_000, store }
    for (let call = 0; call < 2; call++) await limiter.consume(request)
    t.equal((await limiter.consume(request)).allowed, false)
    await limiter.refund([request, { key: 'free', maxAttempts: 0 }])
    t.match(await limiter.consume(request), { allowed: true, remaining: 0 }, store)
    await rejectsWith(t, limiter.refund([{ ...request, cost: 0 }]), { name: 'RangeError' })
  }
  remote.become('failing')
  await t.resolves(limiter.refund([{ key: 'a', maxAttempts: 2, windowMs: 60_000, store: 'remote' }]))
})

t.test('the wait of a denial has a unit that people read', async (t) => {
  const { limiter } = await startLimiter(t)
  const texts = []
  for (const windowMs of [119_000, 120_000, 7_199_000, 7_200_000, 172_799_000, 172_800_000]) {
    const request = { key: String(windowMs), maxAttempts: 1, windowMs }
    await limiter.consume(request)
    const error = await limiter.assertAllowed(request).catch(({ message, data }) => [message, data.retryAfter])
    texts.push(error)
  }
  t.same(texts, [
    ['Too many requests. Try again in 119 s.', 119],
    ['Too many requests. Try again in 2 min.', 120],
    ['Too many requests. Try again in 120 min.', 7199],
    ['Too many requests. Try again in 2 hours.', 7200],
    ['Too many requests. Try again in 48 hours.', 172_799],
    ['Too many requests. Try again in 2 days.', 172_800],
  ])
})

t.test('R-104 joint limits take all or nothing', async (t) => {
  // The second store has no `consumeAll`, so the limiter first checks all limits and then uses them one after another.
  const plain = definePlugin({
    id: 'test.plain',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [rateLimitStore],
    setup({ clock, contribute }) {
      const inner = new MemoryStore({ clock, cleanupInterval: 1024, maxKeys: 100 })
      contribute(rateLimitStore, 'plain', {
        traits: inner.traits,
        consume: async (request) => inner.consume(request),
        peek: async (request) => inner.peek(request),
        reset: (key) => inner.reset(key),
      })
    },
  })
  const { limiter } = await startLimiter(t, [memory, plain])
  for (const stores of [
    ['memory', 'memory'],
    ['plain', 'plain'],
    ['memory', 'plain'],
  ] as const) {
    const id = stores.join()
    const account = { key: `account:${id}`, maxAttempts: 5, windowMs: 60_000, store: stores[0] }
    const address = { key: `address:${id}`, maxAttempts: 2, windowMs: 90_000, store: stores[1] }
    const free = { key: 'free', maxAttempts: 0 }
    const first = await limiter.consumeAll([account, address, free])
    assertMembers(
      t,
      first,
      { allowed: true, results: [{ remaining: 4, limit: 5 }, { remaining: 1 }, { limit: 0 }] },
      id,
    )
    t.equal((await limiter.assertAllAllowed([account, address])).length, 2)
    for (let call = 0; call < 3; call++) {
      const denied = await limiter.consumeAll([account, address, free])
      assertMembers(t, denied, {
        allowed: false,
        results: [
          { key: `rate-limit:account:${id}`, allowed: true, remaining: 3 },
          { allowed: false, remaining: 0, retryAfter: 90_000 },
          { allowed: true },
        ],
      })
    }
    await limiter.consume({ ...account, cost: 3 })
    const thrown = { code: '429', reason: 'rate-limit.exceeded', data: { retryAfter: 90 } }
    await rejectsWith(t, limiter.assertAllAllowed([account, address]), thrown, 'the longest time to wait')
  }
  t.same(await limiter.consumeAll([]), { allowed: true, results: [] })
  const twice = [{ key: 'same', maxAttempts: 1 }, { key: 'same' }]
  await rejectsWith(t, limiter.consumeAll(twice), { name: 'RangeError', message: /"key".*same/ })
  await rejectsWith(t, limiter.consumeAll([{ key: 'a' }, { key: 'b', cost: 0 }]), {
    name: 'RangeError',
    message: /"cost"/,
  })
  t.equal((await limiter.peek({ key: 'a' })).remaining, 59, 'a bad one among them changes nothing')
})

t.test('peek takes nothing, reset returns everything', async (t) => {
  const { limiter } = await startLimiter(t)
  const request = { key: 'k', maxAttempts: 1 }
  t.match(await limiter.peek(request), { allowed: true, remaining: 0, key: 'rate-limit:k' })
  t.match(await limiter.consume(request), { allowed: true })
  t.match(await limiter.peek(request), { allowed: false })
  await limiter.reset({ key: 'k' })
  t.match(await limiter.consume(request), { allowed: true })
})

t.test('R-014 R-018 R-019 R-020 R-044 R-100 the manager adds defaults and selects the store', async (t) => {
  const spy = storePlugin('spy', allowConsume)
  const other = storePlugin('other', async (request) => allowConsume(request))
  const { limiter, running } = await startLimiter(t, [spy.plugin, other.plugin, memory])
  await limiter.consume({ key: 'a' })
  t.same(spy.asked, [], 'the default store is memory')
  await limiter.consume({ key: 'a', store: 'spy' })
  t.same(spy.asked, [{ key: 'rate-limit:a', limit: 60, windowMs: 60_000, cost: 1 }])
  await limiter.consume({ key: 'b', maxAttempts: 5, windowMs: 10, cost: 2, store: 'other' })
  t.same(other.asked, [{ key: 'rate-limit:b', limit: 5, windowMs: 10, cost: 2 }])
  await limiter.consume({ key: 'c', store: '' })
  t.equal(spy.asked.length + other.asked.length, 2, 'an empty store name means the default')
  await running.stop('done')

  const set = { 'default-store': 'spy', 'default-window': '5m', 'default-max-attempts': 7, 'key-prefix': 'p' }
  const changed = await startLimiter(t, [spy.plugin], set)
  await changed.limiter.consume({ key: 'd' })
  t.same(spy.asked.at(-1), { key: 'p:d', limit: 7, windowMs: 300_000, cost: 1 })
})

t.test('R-015 an unknown store is a clear error, at the start and in a call', async (t) => {
  const { limiter } = await startLimiter(t)
  const unknown = {
    code: 'PLINTH_RATE_LIMIT_UNKNOWN_STORE',
    message: /"memmory".*Loaded stores: memory.*Did you mean "memory"/,
  }
  await rejectsWith(t, limiter.consume({ key: 'a', store: 'memmory' }), unknown)
  await rejectsWith(t, limiter.peek({ key: 'a', store: 'memmory', maxAttempts: 0 }), unknown)
  await rejectsWith(t, limiter.reset({ key: 'a', store: 'memmory' }), unknown)
  await rejectsWith(t, startLimiter(t, [memory], { 'default-store': 'memmory' }), { message: unknown.message })
  await rejectsWith(t, startLimiter(t, []), { message: /Loaded stores: none/ })
  const off = await startLimiter(t, [], { enabled: false })
  t.equal((await off.limiter.consume({ key: 'a' })).allowed, true, 'switched off it needs no store')
})

t.test('R-006 R-017 R-020 unlimited and disabled limits never call the store', async (t) => {
  const spy = storePlugin('spy', allowConsume)
  const spied = { 'default-store': 'spy' }
  const unlimited = { allowed: true, key: 'rate-limit:a', limit: 0, remaining: Number.MAX_SAFE_INTEGER, retryAfter: 0 }
  const on = await startLimiter(t, [spy.plugin], spied)
  t.match(await on.limiter.consume({ key: 'a', maxAttempts: 0 }), unlimited)
  t.match(await on.limiter.consume({ key: 'a', maxAttempts: -5 }), unlimited, 'not replaced by the default')
  const noDefault = await startLimiter(t, [spy.plugin], { ...spied, 'default-max-attempts': 0 })
  t.match(await noDefault.limiter.consume({ key: 'a' }), unlimited)
  await noDefault.limiter.consume({ key: 'a', maxAttempts: 3 })
  t.equal(spy.asked.length, 1, 'an own limit still counts')
  const off = await startLimiter(t, [spy.plugin], { ...spied, enabled: false })
  t.match(await off.limiter.consume({ key: 'a', maxAttempts: 1 }), unlimited)
  t.match(await off.limiter.assertAllowed({ key: 'a', maxAttempts: 1 }), unlimited)
  t.equal(spy.asked.length, 1)
})

t.test('invalid arguments are rejected before a store is called, and change nothing', async (t) => {
  const spy = storePlugin('spy', allowConsume)
  const { limiter } = await startLimiter(t, [spy.plugin], { 'default-store': 'spy' })
  const bad = fc.oneof(
    fc.record({
      key: fc.constant('k'),
      cost: fc.oneof(fc.integer({ max: 0 }), fc.constantFrom(1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53)),
    }),
    fc.record({
      key: fc.constant('k'),
      windowMs: fc.oneof(fc.integer({ max: 0 }), fc.constantFrom(0.5, Number.NaN, 2 ** 53)),
    }),
    fc.record({
      key: fc.constant('k'),
      maxAttempts: fc.constantFrom(0.5, Number.NaN, Number.NEGATIVE_INFINITY, 2 ** 53),
    }),
    fc.record({ key: fc.constantFrom('', ' ', undefined as unknown as string) }),
  )
  const property = fc.asyncProperty(bad, async (request: ConsumeRequest) => {
    const error: unknown = await limiter.consume(request).catch((thrown: unknown) => thrown)
    const named = Object.keys(request).at(-1) ?? ''
    return error instanceof RangeError && error.message.includes(`"${named}"`)
  })
  await t.resolves(fc.assert(property, { numRuns: 200 }))
  t.same(spy.asked, [])
})

t.test(
  'no key makes a store fail: half a surrogate pair is hashed, and too many joint limits are rejected',
  async (t) => {
    const spy = storePlugin('spy', allowConsume)
    const { limiter } = await startLimiter(t, [spy.plugin], { 'default-store': 'spy' })
    for (const key of ['\ud800', 'a\udc00b'])
      t.match((await limiter.consume({ key })).key, /^rate-limit:sha256:[0-9a-f]{64}$/)
    t.equal((await limiter.consume({ key: 'ключ 🔑' })).key, 'rate-limit:ключ 🔑')
    t.ok(spy.asked.every(({ key }) => key.isWellFormed()))
    const many = Array.from({ length: 129 }, (_, index) => ({ key: `k${index}` }))
    await rejectsWith(t, limiter.consumeAll(many), { name: 'RangeError', message: /128/ })
    t.equal((await limiter.consumeAll(many.slice(1))).allowed, true)
  },
)

t.test('a long unhashed key does not fill the store', async (t) => {
  const { limiter } = await startLimiter(t)
  const long = (tail: string) => limiter.consume({ key: 'x'.repeat(100_000) + tail, maxAttempts: 1 })
  t.match((await long('a')).key, /^rate-limit:sha256:[0-9a-f]{64}$/)
  t.equal((await long('b')).allowed, true)
  t.equal((await long('a')).allowed, false)
})

t.test('a late result changes nothing, and a result in time leaves no timer', async (t) => {
  let response: (decision: RateLimitDecision) => void = () => {}
  const slow = storePlugin(
    'slow',
    () =>
      new Promise((resolve) => {
        response = resolve
      }),
  )
  const { limiter, clock } = await startLimiter(t, [slow.plugin, memory])
  const request = { key: 'a', store: 'slow', failurePolicy: 'closed' } as const
  const inTime = limiter.consume(request)
  await clock.advance(200)
  response({ allowed: true, remaining: 1, resetAtMs: 1, retryAfterMs: 0 })
  t.equal((await inTime).allowed, true)
  t.equal(clock.sleepers, 0, 'the timer ends with the last pending call')
  for (let call = 0; call < 3; call++) await limiter.consume({ key: 'b' })
  t.equal(clock.sleepers, 0, 'a store that answers at once needs none')
  const late = rejectsWith(t, limiter.consume(request), { code: '503' })
  await clock.advance(250)
  await late
  response({ allowed: true, remaining: 1, resetAtMs: 1, retryAfterMs: 0 })
})

t.test('R-066 R-067 R-068 R-069 outcomes are counted per store, with no other tag', async (t) => {
  const spy = storePlugin('spy', allowConsume)
  const { limiter, registry, running } = await startLimiter(t, [memory, spy.plugin])
  const email = 'ada@example.com'
  for (let call = 0; call < 5; call++) await limiter.consume({ key: email, maxAttempts: 3 })
  await limiter.consume({ key: email, maxAttempts: 0 })
  await limiter.consume({ key: email, store: 'spy' })
  await limiter.peek({ key: email })
  for (let reading = 0; reading < 2; reading++) {
    const metric = registry.getSingleMetric('platform_rate_limit_requests_total')
    const values = (await metric?.get())?.values ?? []
    t.ok(values.every(({ labels }) => Object.keys(labels).sort().join() === 'outcome,store'))
    const counted = Object.fromEntries(
      values.map(({ labels: { store, outcome }, value }) => [`${store}/${outcome}`, value]),
    )
    t.match(counted, { 'memory/allowed': 3, 'memory/rejected': 2, 'memory/unlimited': 1, 'spy/allowed': 1 })
  }
  t.notMatch(await registry.metrics(), email)
  await running.stop('done')
  t.equal(registry.getSingleMetric('platform_rate_limit_requests_total'), undefined, 'gone with the plugin')
})

t.test('R-023 R-069 without an HTTP server and metrics the limiter works too', async (t) => {
  const product = defineProduct({ name: 'bare', plugins: [rateLimit, memory] })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const limiter = running.service(rateLimiter)
  t.match(await limiter.consume({ key: 'a', maxAttempts: 1 }), { allowed: true })
  t.match(await limiter.consume({ key: 'a', maxAttempts: 1 }), { allowed: false })
  t.match(await limiter.consume({ key: 'a', maxAttempts: 1, shadow: true }), { allowed: true, shadowed: true })
})

t.test('R-102 keys contain the hash of an address', async (t) => {
  const { limiter } = await startLimiter(t)
  const hash = createHash('sha256').update('203.0.113.1').digest('hex')
  for (let call = 0; call < 2; call++) t.equal(limiter.addressKey('203.0.113.1'), hash)
  t.equal(limiter.addressKey('::ffff:203.0.113.1'), hash)
  t.equal(limiter.addressKey('2001:db8::1'), limiter.addressKey('2001:db8::2%eth0'), 'one network is one caller')
  t.not(limiter.addressKey('2001:db8::1'), limiter.addressKey('2001:db8:0:1::1'))
})

t.test('R-016 a call with another rule of the same key does not lift a limit', async (t) => {
  const { limiter, clock } = await startLimiter(t)
  const hour = { key: 'account', maxAttempts: 1, windowMs: 3_600_000 }
  const second = { key: 'account', maxAttempts: 100, windowMs: 1000 }
  t.equal((await limiter.consume(hour)).allowed, true)
  t.match(await limiter.consume(second), { allowed: true, remaining: 99 })
  await clock.advance(1000)
  t.match(await limiter.consume(hour), { allowed: false, retryAfter: 3_599_000 })
  await limiter.reset({ key: 'account' })
  t.equal((await limiter.consume(hour)).allowed, true, 'a reset forgets all rules of the key')
})

t.test('R-017 R-020 live keys apply immediately; a default store that is not loaded is rejected', async (t) => {
  const { limiter, running } = await startLimiter(t)
  const apply = (values: Record<string, string | number | boolean>) =>
    running.config.apply(
      Object.entries(values).map(([name, written]) => {
        const key = `platform.rate-limit.${name}`
        return { name: key, by: 'key', written, place: key }
      }),
    )
  await apply({ 'default-max-attempts': 1, 'default-window': '2s', 'store-deadline': '1s' })
  t.match(await limiter.consume({ key: 'a' }), { allowed: true, limit: 1 })
  t.match(await limiter.consume({ key: 'a' }), { allowed: false, retryAfter: 2000 })
  assertMembers(t, await apply({ 'default-max-attempts': 1, enabled: false }), { refused: [] })
  t.match(await limiter.consume({ key: 'a' }), { allowed: true, limit: 0 })
  const report = await apply({ 'default-store': 'shared-window' })
  assertMembers(t, report.refused, [{ key: 'platform.rate-limit.default-store', reason: /"shared-window"/ }])
  t.match(await limiter.consume({ key: 'b' }), { allowed: true, limit: 60 }, 'the old store goes on')
})
