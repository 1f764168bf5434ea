import { assertMembers } from '@plinth/dev/testing'
import memory from '@plinth/rate-limit-stores/memory'
import t from 'tap'
import { startRoutes } from './fixtures/limited-routes.ts'
import { remoteStore, startLimiter } from './fixtures/limiter.ts'

t.test('a limit in shadow mode counts and reports, and never denies', async (t) => {
  const { limiter, counted } = await startLimiter(t)
  const request = { key: 'k', maxAttempts: 2, shadow: true }
  for (let call = 0; call < 2; call++) {
    const result = await limiter.consume(request)
    t.match(result, { allowed: true, remaining: 1 - call })
    t.notOk('shadowed' in result)
  }
  t.match(await limiter.consume(request), { allowed: true, remaining: 0, retryAfter: 0, shadowed: true })
  t.match(await limiter.assertAllowed(request), { allowed: true, shadowed: true })
  t.match(await limiter.peek(request), { allowed: true, shadowed: true })
  t.same(await counted('shadowed'), { memory: 2 })
  t.match(await counted('requests'), { 'memory/allowed': 4, 'memory/rejected': 0 })
  t.match(await limiter.consume({ ...request, shadow: false }), { allowed: false }, 'it has counted')
})

t.test('a joint limit in shadow mode denies no call', async (t) => {
  const { limiter } = await startLimiter(t)
  const watched = { key: 'watched', maxAttempts: 1, shadow: true }
  const strict = { key: 'strict', maxAttempts: 3 }
  for (let call = 0; call < 3; call++) {
    assertMembers(t, await limiter.consumeAll([watched, strict]), { allowed: true, results: [{ allowed: true }, {}] })
  }
  assertMembers(t, await limiter.consumeAll([watched, strict]), {
    allowed: false,
    results: [{ allowed: true, shadowed: true }, { allowed: false }],
  })
})

t.test('a limit in shadow mode allows calls while its store fails', async (t) => {
  const { clock } = await startLimiter(t)
  const remote = remoteStore('remote', clock)
  const { limiter } = await startLimiter(t, [remote.plugin, memory], { 'default-store': 'remote' }, clock)
  remote.become('failing')
  const request = { key: 'k', maxAttempts: 1, failurePolicy: 'closed', shadow: true } as const
  for (let call = 0; call < 3; call++) t.equal((await limiter.consume(request)).allowed, true)
})

t.test('declared limits: one in shadow mode, or all of them', async (t) => {
  const own = await startRoutes(t, { limits: { things: { maxAttempts: 1, shadow: true } } })
  const all = await startRoutes(t, {
    limits: { things: { maxAttempts: 1 } },
    config: { 'platform.rate-limit.annotation.shadow': true },
  })
  for (const { call, handled } of [own, all]) {
    for (let count = 0; count < 3; count++) t.equal((await call('things')).code, '200')
    t.equal(handled.length, 3)
    const { headers } = await call('things')
    t.match(headers, { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0' })
    t.notOk('retry-after' in headers, 'nothing was denied')
  }
  const key = 'platform.rate-limit.annotation.shadow'
  await all.running.config.apply([{ name: key, by: 'key', written: false, place: 'test' }])
  t.equal((await all.call('things')).code, '429', 'a live change counts at once')
})
