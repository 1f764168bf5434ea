import { assertMembers, manualClock, rejectsWith } from '@plinth/dev/testing'
import type { FailurePolicy } from '@plinth/http'
import { omitUndefined } from '@plinth/kernel'
import type { ConsumeRequest } from '@plinth/rate-limit'
import memory from '@plinth/rate-limit-stores/memory'
import t, { type Test } from 'tap'
import { allowConsume, nextEventLoopTick, remoteStore, startLimiter, storePlugin } from './fixtures/limiter.ts'

const unavailable = { name: 'BusinessError', code: '503', reason: 'rate-limit.store-unavailable' }

/** Starts a product with a remote default store. The store denies the third call of a key. */
async function startRemote(t: Test, set: Record<string, string | boolean> = {}, isInsured = true) {
  const clock = manualClock()
  const remote = remoteStore('remote', clock)
  const plugins = isInsured ? [remote.plugin, memory] : [remote.plugin]
  const started = await startLimiter(t, plugins, { 'default-store': 'remote', ...set }, clock)
  const consume = (changes: Partial<ConsumeRequest> = {}) =>
    started.limiter.consume({ key: 'login:ada', maxAttempts: 2, ...changes })
  return { ...started, remote, consume }
}

t.test('by default, a failing store is replaced by the memory of the process', async (t) => {
  const { consume, remote, counted } = await startRemote(t)
  t.match(await consume(), { allowed: true, remaining: 1, key: 'rate-limit:login:ada' })
  remote.become('failing')
  t.match(await consume(), { allowed: true, remaining: 1 }, 'the insurance begins a window of its own')
  t.match(await consume(), { allowed: true, remaining: 0 })
  t.match(await consume(), { allowed: false, remaining: 0, key: 'rate-limit:login:ada', limit: 2 }, 'and it counts')
  t.match(await consume({ store: 'memory' }), { allowed: true, remaining: 1 }, 'a quota apart from that of the store')
  t.same(await counted('degraded'), { 'remote/insurance': 3 }, 'each such decision is counted')
  t.match(await counted('requests'), { 'remote/allowed': 3, 'remote/rejected': 1 })
})

t.test('the policy of a limit, or the default policy, decides about calls', async (t) => {
  for (const [policy, byDefault] of [
    ['closed', false],
    ['closed', true],
    ['open', false],
    ['open', true],
  ] as const) {
    const { consume, limiter, remote, counted } = await startRemote(t, byDefault ? { 'failure-policy': policy } : {})
    const own: { failurePolicy?: FailurePolicy } = byDefault ? {} : { failurePolicy: policy }
    remote.become('failing')
    for (let call = 0; call < 4; call++) {
      if (policy === 'closed') await rejectsWith(t, consume(own), unavailable)
      else t.match(await consume(own), { allowed: true, limit: 2, remaining: 1, retryAfter: 0 })
    }
    t.same(await counted('degraded'), { [`remote/${policy}`]: 4 })
    const look = limiter.peek({ key: 'a', ...own })
    if (policy === 'closed') await rejectsWith(t, look, unavailable)
    else t.equal((await look).allowed, true)
    t.same(await counted('degraded'), { [`remote/${policy}`]: 4 }, 'looking is no decision')
    await rejectsWith(t, limiter.reset({ key: 'a' }), unavailable, 'a reset that did not happen is an error')
  }
})

t.test(
  'without the memory store there is no fallback: calls are rejected, and the log reports it at the start',
  async (t) => {
    const { consume, remote, lines, counted } = await startRemote(t, {}, false)
    assertMembers(
      t,
      lines.filter(({ level, store }) => level === 40 && store !== undefined),
      [{ store: 'memory', msg: /all limited requests are rejected/ }],
    )
    remote.become('failing')
    await rejectsWith(t, consume(), unavailable)
    t.same(await counted('degraded'), { 'remote/closed': 1 })
  },
)

t.test('after its first failure a store is not called until a check in the background succeeds', async (t) => {
  const { consume, remote, clock, lines } = await startRemote(t)
  await consume()
  remote.become('failing')
  await consume()
  await nextEventLoopTick()
  const asked = remote.calls.length
  for (let call = 0; call < 50; call++) await consume({ key: `k${call}` })
  t.equal(remote.calls.length, asked, 'nobody waits for it')
  await clock.advance(2000)
  const looks = remote.calls.slice(asked)
  t.ok(looks.length >= 3 && looks.length <= 5 && looks.every((call) => call === 'peek'), `looks: ${looks.join()}`)
  remote.become('fine')
  await consume()
  t.equal(remote.calls.length, asked + looks.length, 'also when it is fine again, until that is known')
  await clock.advance(500)
  const back = remote.calls.length
  t.match(await consume(), { allowed: true, remaining: 0 }, 'it goes on where it was')
  t.equal(remote.calls.length, back + 1)
  t.same(
    lines.filter(({ store }) => store === 'remote').map(({ level, msg }) => [level, msg]),
    [
      [50, 'rate limit store failed; it is not used until it responds again'],
      [30, 'rate limit store responds again'],
    ],
    'told once when it begins and once when it ends',
  )
  remote.become('failing')
  await consume({ key: 'other' })
  await nextEventLoopTick()
  t.equal(lines.filter(({ level }) => level === 50).length, 2, 'and again for the next time')
  t.equal(clock.sleepers > 0, true)
})

t.test('calls to a hanging store end at the deadline, and later calls immediately', async (t) => {
  for (const policy of ['closed', 'insurance'] as const) {
    const { consume, remote, clock } = await startRemote(t, { 'failure-policy': policy })
    remote.become('hanging')
    let ended = false
    const first = consume().finally(() => {
      ended = true
    })
    first.catch(() => {})
    await clock.advance(249)
    t.equal(ended, false)
    await clock.advance(1)
    if (policy === 'closed') await rejectsWith(t, first, unavailable)
    else t.match(await first, { allowed: true, remaining: 1 })
    // The clock no longer advances, so a pending call would never end.
    if (policy === 'closed') await rejectsWith(t, consume(), unavailable)
    else t.match(await consume(), { allowed: true, remaining: 0 })
  }
})

t.test('running calls end at their own deadlines, and one timer is enough for all', async (t) => {
  const { consume, remote, clock } = await startRemote(t, { 'failure-policy': 'closed' })
  remote.become('hanging')
  const ended: string[] = []
  const ask = (name: string) => {
    void consume({ key: name }).catch(() => ended.push(name))
  }
  for (let call = 0; call < 2000; call++) ask('early')
  await clock.advance(100)
  for (let call = 0; call < 2000; call++) ask('late')
  t.equal(clock.sleepers, 1)
  await clock.advance(150)
  t.same([...new Set(ended)], ['early'])
  t.equal(ended.length, 2000)
  await clock.advance(100)
  t.equal(ended.length, 4000)
})

t.test('a signal aborts at the deadline of its own call, not of another call', async (t) => {
  const signals: (AbortSignal | undefined)[] = []
  const clock = manualClock()
  const store = storePlugin(
    'sometimes-slow',
    (request, context) => {
      if (request.key.endsWith('signal')) signals.push(context?.signal)
      return request.key.endsWith('slow') ? new Promise(() => {}) : allowConsume(request)
    },
    { peek: allowConsume },
  )
  const set = { 'default-store': 'sometimes-slow', 'failure-policy': 'closed' }
  const { limiter } = await startLimiter(t, [store.plugin], set, clock)
  const aborted = () => signals.map((signal) => signal?.aborted)
  await limiter.consume({ key: 'signal' })
  await clock.advance(10)
  const rejected = [1, 2].map((call) => rejectsWith(t, limiter.consume({ key: `${call} slow` }), unavailable))
  await clock.advance(10)
  await limiter.consume({ key: 'another signal' })
  await clock.advance(230)
  t.same(aborted(), [true, false])
  await clock.advance(10)
  await Promise.all(rejected)
  t.same(aborted(), [true, false])
  await clock.advance(10)
  t.same(aborted(), [true, true])
})

t.test('the store gets the signal of the deadline when it reads it, also after the deadline', async (t) => {
  const seen: (AbortSignal | undefined)[] = []
  const over: (boolean | undefined)[] = []
  const asking = storePlugin(
    'asking',
    async (request, context) => {
      seen.push(context?.signal)
      over.push(context?.isOver?.())
      await new Promise((resolve) => clock.sleep(400).then(() => resolve(undefined)))
      seen.push(context?.signal)
      over.push(context?.isOver?.())
      return allowConsume(request)
    },
    { peek: allowConsume },
  )
  const clock = manualClock()
  const { limiter } = await startLimiter(t, [asking.plugin], { 'default-store': 'asking' }, clock)
  const rejected = rejectsWith(t, limiter.consume({ key: 'a' }), unavailable)
  await clock.advance(249)
  t.same(
    seen.map((signal) => signal?.aborted),
    [false],
  )
  await clock.advance(1)
  await rejected
  await clock.advance(150)
  t.equal(seen.length, 2)
  t.ok(seen.every((signal) => signal?.aborted))
  t.match(String(seen[1]?.reason), /did not answer within 250 ms/)
  t.same(over, [false, true])
})

t.test('a local store that rejects one call is called for the next, and the log stays short', async (t) => {
  const full = storePlugin(
    'full',
    (request) => {
      if (request.key.endsWith('new')) throw new Error('max-keys')
      return allowConsume(request)
    },
    { traits: { shared: false, algorithm: 'fixed-window' } },
  )
  const { limiter, lines, clock } = await startLimiter(t, [full.plugin, memory], { 'default-store': 'full' })
  for (let call = 0; call < 20; call++) t.equal((await limiter.consume({ key: 'new' })).allowed, true, 'insured')
  t.equal((await limiter.consume({ key: 'known' })).remaining, 59)
  t.equal(full.asked.length, 21)
  t.equal(lines.filter(({ level }) => level === 50).length, 1)
  await clock.advance(10_000)
  await limiter.consume({ key: 'new' })
  t.equal(lines.filter(({ level }) => level === 50).length, 2)
})

t.test('a fallback without room rejects', async (t) => {
  const clock = manualClock()
  const remote = remoteStore('remote', clock)
  const tight = storePlugin(
    'memory',
    () => {
      throw new Error('max-keys')
    },
    { traits: { shared: false, algorithm: 'fixed-window' } },
  )
  const { limiter } = await startLimiter(t, [remote.plugin, tight.plugin], { 'default-store': 'remote' }, clock)
  remote.become('failing')
  await rejectsWith(t, limiter.consume({ key: 'a' }), unavailable)
  await rejectsWith(t, limiter.consumeAll([{ key: 'a' }, { key: 'b' }]), unavailable)
  await rejectsWith(t, limiter.consume({ key: 'a', store: 'memory' }), unavailable, 'it cannot insure itself')
})

t.test('joint limits: failing stores are replaced, and one closed limit rejects all', async (t) => {
  const { limiter, remote, counted, clock } = await startRemote(t)
  const pair = (policies: readonly (FailurePolicy | undefined)[]) =>
    policies.map((failurePolicy, index) =>
      omitUndefined<ConsumeRequest>({ key: `k${index}`, maxAttempts: 2, failurePolicy }),
    )
  const local = { key: 'local', maxAttempts: 9, store: 'memory' }
  remote.become('failing')
  // Tests a failure that is found during the call, and a failure that is known before it.
  for (const known of [false, true]) {
    assertMembers(t, await limiter.consumeAll([...pair([undefined, 'open']), local]), {
      allowed: true,
      results: [{ remaining: known ? 0 : 1 }, { remaining: 1, limit: 2 }, { remaining: known ? 7 : 8 }],
    })
  }
  assertMembers(t, await limiter.consumeAll([...pair([undefined, 'open']), local]), {
    allowed: false,
    results: [{ allowed: false }, { allowed: true }, { allowed: true, remaining: 7 }],
  })
  t.same(await counted('degraded'), { 'remote/insurance': 3, 'remote/open': 3 })
  await rejectsWith(t, limiter.consumeAll([...pair(['insurance', 'closed']), local]), unavailable)
  t.equal((await limiter.peek(local)).remaining, 6, 'nothing was taken')
  t.match(await counted('degraded'), { 'remote/closed': 2 })
  remote.become('fine')
  await clock.advance(500)
  assertMembers(t, await limiter.consumeAll(pair(['closed', 'closed'])), {
    allowed: true,
    results: [{ remaining: 1 }, {}],
  })
})

t.test('only the log contains the error of the store', async (t) => {
  const { consume, remote, lines } = await startRemote(t, { 'failure-policy': 'closed' })
  remote.become('failing')
  const error: Error = await consume().then(
    () => t.fail('allowed') as never,
    (thrown) => thrown,
  )
  t.notMatch(`${error.message} ${JSON.stringify(error)}`, 's3cr3t')
  await nextEventLoopTick()
  t.equal(lines.filter(({ err }) => err?.message.includes('refused')).length, 1)
  t.notMatch(JSON.stringify(lines), 'login:ada', 'no key in the log')
})

t.test('a live change of policy and deadline applies immediately', async (t) => {
  const { consume, remote, running, clock } = await startRemote(t)
  const apply = (values: Record<string, string>) =>
    running.config.apply(
      Object.entries(values).map(([name, written]) => {
        const key = `platform.rate-limit.${name}`
        return { name: key, by: 'key', written, place: key }
      }),
    )
  await apply({ 'failure-policy': 'closed', 'store-deadline': '1s' })
  remote.become('hanging')
  const first = rejectsWith(t, consume(), unavailable)
  await clock.advance(999)
  t.equal(clock.sleepers, 1)
  await clock.advance(1)
  await first
  await apply({ 'failure-policy': 'open', 'store-deadline': '1s' })
  t.equal((await consume()).allowed, true)
})

t.test(
  'a failing key does not mean that the store failed: other keys are called, and the log has one line',
  async (t) => {
    const clock = manualClock()
    const broken = new Error('WRONGTYPE of one key')
    const isBroken = (key: string) => key.endsWith(':broken')
    const { asked, plugin } = storePlugin('remote', (request) => {
      if (isBroken(request.key)) throw broken
      return allowConsume(request)
    })
    const { limiter, lines, running } = await startLimiter(
      t,
      [plugin, memory],
      { 'default-store': 'remote', 'failure-policy': 'closed' },
      clock,
    )
    const consume = (key: string) => limiter.consume({ key, maxAttempts: 5 })
    for (let round = 1; round <= 5; round++) {
      const rejected = rejectsWith(t, consume('broken'), unavailable)
      t.match(await consume(`fine-${round}`), { allowed: true }, 'at the same moment')
      await rejected
      t.match(
        await limiter.consumeAll([
          { key: `a-${round}`, maxAttempts: 5 },
          { key: `b-${round}`, maxAttempts: 5 },
        ]),
        {
          allowed: true,
        },
      )
      await nextEventLoopTick()
      t.match(await consume(`fine-${round}`), { allowed: true }, 'and afterwards')
    }
    await rejectsWith(
      t,
      limiter.consumeAll([
        { key: 'fine', maxAttempts: 5 },
        { key: 'broken', maxAttempts: 5 },
      ]),
      unavailable,
    )
    t.match(await consume('fine'), { allowed: true })
    t.ok(asked.filter(({ key }) => isBroken(key)).length >= 5, 'the key is tried again')
    t.same(
      lines.filter(({ level, store }) => level >= 40 && store === 'remote').map(({ msg, err }) => [msg, err?.message]),
      [['rate limit store failed for a key', broken.message]],
    )
    t.equal(running.state, 'ready')
  },
)

t.test('while the reason of a failing key is unknown, only that key is decided without the store', async (t) => {
  const { consume, remote, clock } = await startRemote(t, { 'failure-policy': 'closed' })
  remote.become('hanging')
  const first = rejectsWith(t, consume(), unavailable)
  await clock.advance(250)
  await first
  remote.become('fine')
  const asked = remote.calls.length
  await rejectsWith(t, consume(), unavailable)
  t.equal(remote.calls.length, asked, 'nobody waits for this key')
  t.match(await consume({ key: 'another' }), { allowed: true }, 'another key is asked for')
})
