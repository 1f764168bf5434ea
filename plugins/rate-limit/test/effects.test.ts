/** Tests the effect of each configuration key of the limiter. */
import { assertKeyEffect, type KeyValues, manualClock } from '@plinth/dev/testing'
import { rateLimiter } from '@plinth/rate-limit'
import memory from '@plinth/rate-limit-stores/memory'
import t from 'tap'
import { startRoutes } from './fixtures/limited-routes.ts'
import { allowConsume, remoteStore, startLimiter, storePlugin } from './fixtures/limiter.ts'

const prefix = 'platform.rate-limit.'
/** Removes the prefix from the keys, because the test limiter expects names without it. */
const withoutPrefix = (values: KeyValues) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key.replace(prefix, ''), value]))

t.test('a denial is remembered for the configured time', async (t) => {
  await assertKeyEffect(t, 'platform.rate-limit.deny-cache.ttl', {
    changed: '5s',
    observe: async (values) => {
      const clock = manualClock()
      const remote = remoteStore('remote', clock)
      const set = { 'default-store': 'remote', ...withoutPrefix(values) }
      const { limiter } = await startLimiter(t, [remote.plugin, memory], set, clock)
      const consume = () => limiter.consume({ key: 'k', maxAttempts: 1, windowMs: 60_000 })
      await consume()
      await consume()
      await clock.advance(4000)
      const before = remote.calls.length
      t.equal((await consume()).allowed, false)
      return { asksAgain: remote.calls.length > before }
    },
  })
})

t.test('all keys begin with the prefix, and a limit without numbers uses the defaults', async (t) => {
  const observe = async (values: KeyValues) => {
    const clock = manualClock()
    const { limiter } = await startLimiter(t, [memory], withoutPrefix(values), clock)
    const { key, allowed, limit, resetAt } = await limiter.consume({ key: 'orders' })
    return { key, allowed, limit, resetInMs: Number(resetAt) - clock.now() }
  }
  const [named] = await assertKeyEffect(t, 'platform.rate-limit.key-prefix', { changed: 'mall', observe })
  t.equal(named?.after.key, 'mall:orders')
  const [limited] = await assertKeyEffect(t, 'platform.rate-limit.default-max-attempts', { changed: 3, observe })
  t.equal(limited?.after.limit, 3)
  await assertKeyEffect(t, 'platform.rate-limit.default-window', { changed: '5s', observe })
})

t.test('a store call has a deadline, and a failing store follows the policy', async (t) => {
  const [waits] = await assertKeyEffect(t, 'platform.rate-limit.store-deadline', {
    changed: '5s',
    observe: async (values) => {
      const clock = manualClock()
      const slow = storePlugin('slow', () => new Promise(() => {}))
      const set = { 'default-store': 'slow', 'failure-policy': 'closed', ...withoutPrefix(values) }
      const { limiter } = await startLimiter(t, [slow.plugin], set, clock)
      let result = 'pending'
      const asked = limiter.consume({ key: 'k' }).catch(({ code }: { code: string }) => {
        result = code
      })
      await clock.advance(4_000)
      const atFourSeconds = result
      await clock.advance(60_000)
      await asked
      return [atFourSeconds, result]
    },
  })
  t.same(
    [waits?.before, waits?.after],
    [
      ['503', '503'],
      ['pending', '503'],
    ],
  )
  const [policies] = await assertKeyEffect(t, 'platform.rate-limit.failure-policy', {
    compared: 'open',
    changed: 'closed',
    observe: async (values) => {
      const failing = storePlugin('failing', () => Promise.reject(new Error('down')))
      const { limiter } = await startLimiter(t, [failing.plugin, memory], {
        'default-store': 'failing',
        ...withoutPrefix(values),
      })
      return limiter.consume({ key: 'k' }).then(
        ({ allowed }) => `allowed: ${allowed}`,
        ({ code }: { code: string }) => code,
      )
    },
  })
  t.same([policies?.before, policies?.after], ['allowed: true', '503'])
})

t.test('the default store is used', async (t) => {
  const [counts] = await assertKeyEffect(t, 'platform.rate-limit.default-store', {
    changed: 'other',
    observe: async (values) => {
      const other = storePlugin('other', allowConsume)
      const { limiter } = await startLimiter(t, [memory, other.plugin], withoutPrefix(values))
      await limiter.consume({ key: 'k' })
      return other.asked.length
    },
  })
  t.match(counts, { before: 0, after: 1 })
})

t.test('routes are limited as configured', async (t) => {
  /** Calls a route with a limit of one call three times. */
  const observe = async (config: KeyValues) => {
    const { call, keys, running } = await startRoutes(t, { limits: { things: { maxAttempts: 1 } }, config })
    const codes = []
    for (let count = 0; count < 3; count++) codes.push((await call('things')).code)
    const { headers } = await call('things')
    const direct = await running.service(rateLimiter).consume({ key: 'direct', maxAttempts: 7 })
    return {
      codes: codes.join(' '),
      hasDraft: 'ratelimit' in headers,
      prefix: keys[0]?.split(':GET:')[0],
      limit: direct.limit,
    }
  }
  const [all] = await assertKeyEffect(t, 'platform.rate-limit.enabled', { changed: false, observe })
  t.match(all, { before: { codes: '200 429 429', limit: 7 }, after: { codes: '200 200 200', limit: 0 } })
  const [declared] = await assertKeyEffect(t, 'platform.rate-limit.annotation.enabled', { changed: false, observe })
  t.match(declared, { before: { codes: '200 429 429', limit: 7 }, after: { codes: '200 200 200', limit: 7 } })
  const [shadow] = await assertKeyEffect(t, 'platform.rate-limit.annotation.shadow', { changed: true, observe })
  t.match(shadow, { before: { codes: '200 429 429' }, after: { codes: '200 200 200' } })
  const [draft] = await assertKeyEffect(t, 'platform.rate-limit.annotation.draft-headers', { changed: true, observe })
  t.match(draft, { before: { hasDraft: false }, after: { hasDraft: true } })
  const [prefixes] = await assertKeyEffect(t, 'platform.rate-limit.annotation.key-prefix', {
    changed: 'shop-front',
    observe,
  })
  t.match(prefixes, { before: { prefix: 'rate-limit:web' }, after: { prefix: 'rate-limit:shop-front' } })
})
