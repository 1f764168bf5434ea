import { rejectsWith, throwsWith } from '@plinth/dev/testing'
import memory from '@plinth/rate-limit-stores/memory'
import fc from 'fast-check'
import t from 'tap'
import { allowConsume, startLimiter, storePlugin } from './fixtures/limiter.ts'

t.test('R-001 R-010 R-011 a declared limit decides like the same rule in single requests', async (t) => {
  const whole = (min: number, max: number) => fc.option(fc.integer({ min, max }), { nil: undefined })
  const rule = fc.record(
    { maxAttempts: whole(-1, 5), windowMs: whole(1, 3000), shadow: fc.boolean(), store: fc.constantFrom('', 'memory') },
    { requiredKeys: [] },
  )
  const step = fc.record({
    operation: fc.constantFrom('consume', 'consume', 'peek', 'assertAllowed', 'reset'),
    key: fc.constantFrom('a', 'b', 'x'.repeat(300)),
    cost: fc.integer({ min: 1, max: 6 }),
    passMs: fc.constantFrom(0, 0, 1, 1500),
  })
  const property = fc.asyncProperty(rule, fc.array(step, { maxLength: 20 }), async (found, steps) => {
    const given = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
    const [one, other] = [await startLimiter(t), await startLimiter(t)]
    const declared = one.limiter.declare(given)
    for (const { operation, key, cost, passMs } of steps) {
      await Promise.all([one.clock.advance(passMs), other.clock.advance(passMs)])
      const asked = operation === 'reset' ? declared.reset(key) : declared[operation](key, cost)
      const [got, expected] = await Promise.allSettled([asked, other.limiter[operation]({ ...given, key, cost })])
      const plain = (outcome: typeof got) =>
        JSON.stringify(
          outcome.status === 'fulfilled' ? outcome.value : { ...outcome.reason, at: outcome.reason.message },
        )
      if (plain(got) !== plain(expected)) throw new Error(`${operation}: ${plain(got)} is not ${plain(expected)}`)
    }
    // The counters of a declared limit exist before its first call, so zero values are ignored.
    const sums = async ({ counted }: typeof one) =>
      Object.entries(await counted('requests')).filter(([, sum]) => sum !== 0)
    t.same(await sums(one), await sums(other))
    await Promise.all([one.running.stop('done'), other.running.stop('done')])
  })
  await t.resolves(fc.assert(property, { numRuns: 40 }))
})

t.test('a declared limit and single requests share the quota of a key', async (t) => {
  const { limiter } = await startLimiter(t)
  const rule = { maxAttempts: 2, windowMs: 1000 }
  const declared = limiter.declare(rule)
  await declared.consume('k')
  t.match(await limiter.consume({ ...rule, key: 'k' }), { allowed: true, remaining: 0, key: 'rate-limit:k' })
  t.match(await declared.consume('k'), { allowed: false })
  await declared.reset('k')
  t.match(await limiter.peek({ ...rule, key: 'k' }), { remaining: 1 })
})

t.test('R-015 an unusable declaration is rejected when it is made', async (t) => {
  const { limiter } = await startLimiter(t)
  const unknown = 'specifies the rate limit store "memmory", which no loaded plugin provides. Loaded stores: memory.'
  throwsWith(t, () => limiter.declare({ store: 'memmory' }), {
    code: 'PLINTH_RATE_LIMIT_UNKNOWN_STORE',
    message: new RegExp(`^The limit ${unknown}`),
  })
  await rejectsWith(
    t,
    startLimiter(t, [memory], { 'default-store': 'memmory' }),
    { message: new RegExp(`Key "platform\\.rate-limit\\.default-store" ${unknown}`) },
    'a store of the configuration is reported with its key',
  )
  throwsWith(t, () => limiter.declare({ windowMs: 0 }), { name: 'RangeError', message: /"windowMs"/ })
  throwsWith(t, () => limiter.declare({ maxAttempts: 0.5 }), { name: 'RangeError', message: /"maxAttempts"/ })
  throwsWith(t, () => limiter.declare({ failurePolicy: 'ajar' as never }), {
    name: 'RangeError',
    message: /"failurePolicy"/,
  })
  const declared = limiter.declare({ maxAttempts: 1 })
  for (const cost of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
    await rejectsWith(t, declared.consume('k', cost), { name: 'RangeError', message: /"cost"/ })
  }
  for (const key of ['', ' ', undefined as unknown as string]) {
    await rejectsWith(t, declared.peek(key), { name: 'RangeError', message: /"key"/ })
  }
  t.match(await declared.consume('k'), { allowed: true }, 'a bad one takes nothing')
})

t.test('R-017 R-020 live changes apply to the defaults of a declaration', async (t) => {
  const spy = storePlugin('spy', allowConsume)
  const { limiter, running } = await startLimiter(t, [memory, spy.plugin])
  const apply = (values: Record<string, string | number | boolean>) =>
    running.config.apply(
      Object.entries(values).map(([name, written]) => {
        const key = `platform.rate-limit.${name}`
        return { name: key, by: 'key', written, place: key }
      }),
    )
  const [open, closed] = [limiter.declare({}), limiter.declare({ maxAttempts: 4, windowMs: 10, store: 'memory' })]
  t.match(await open.consume('a'), { limit: 60, remaining: 59 })
  await apply({ 'default-max-attempts': 1, 'default-window': '2s', 'default-store': 'spy' })
  t.match(await open.consume('a'), { limit: 1 })
  t.same(spy.asked, [{ key: 'rate-limit:a', limit: 1, windowMs: 2000, cost: 1 }])
  t.match(await closed.consume('b'), { limit: 4, remaining: 3 }, 'what it says itself stays')
  await apply({ enabled: false })
  t.match(await open.consume('a'), { allowed: true, limit: 0 })
  t.match(await closed.consume('a'), { allowed: true, limit: 0 })
})
