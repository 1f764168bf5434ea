import { assertMembers, manualClock } from '@plinth/dev/testing'
import type { StoreContext } from '@plinth/kernel'
import t from 'tap'
import { StoreCalls } from '../src/store-calls.ts'
import { allowConsume, nextEventLoopTick, startLimiter, storePlugin } from './fixtures/limiter.ts'

t.test('a store that ends its calls itself gets one deadline for all calls of a millisecond', async (t) => {
  const contexts = new Set<StoreContext | undefined>()
  const clock = manualClock()
  const store = storePlugin(
    'ending',
    (request, context) => {
      contexts.add(context)
      if (request.key.endsWith('quick')) return Promise.resolve(allowConsume(request))
      return new Promise((_, reject) => context?.onEnd?.(reject))
    },
    { peek: allowConsume, traits: { shared: true, algorithm: 'fixed-window', endsCalls: true } },
  )
  const set = { 'default-store': 'ending', 'failure-policy': 'closed' }
  const { limiter } = await startLimiter(t, [store.plugin], set, clock)
  const ended: string[] = []
  const ask = (name: string) => {
    void limiter.consume({ key: name }).catch(({ reason }) => ended.push(`${name} ${reason}`))
  }
  t.match(await limiter.consume({ key: 'quick' }), { allowed: true })
  t.equal(clock.sleepers, 0, 'no timer while nobody waits')
  for (let call = 0; call < 500; call++) ask(`early ${call}`)
  await clock.advance(100)
  for (let call = 0; call < 500; call++) ask(`late ${call}`)
  t.equal(contexts.size, 2)
  t.equal(clock.sleepers, 1)
  await clock.advance(149)
  t.equal(ended.length, 0)
  await clock.advance(1)
  t.same(
    ended.toSorted(),
    Array.from({ length: 500 }, (_, call) => `early ${call} rate-limit.store-unavailable`).toSorted(),
  )
  const [early, late] = [...contexts]
  t.same([early?.isOver?.(), late?.isOver?.()], [true, false])
  t.equal(early?.signal.aborted, true)
  const reported: string[] = []
  early?.onEnd?.(({ message }) => reported.push(message))
  assertMembers(t, reported, [/did not answer within 250 ms/], 'who comes too late is told at once')
  await clock.advance(100)
  t.equal(ended.length, 1000)
  t.equal(clock.sleepers, 0)
})

t.test('a call that shares a deadline with others ends with it, although later calls have ended', async (t) => {
  const clock = manualClock()
  const calls = new StoreCalls(clock, () => 250)
  const ended: string[] = []
  const note = (name: string) => () => void ended.push(name)
  const early = calls.context()
  const leave = early.onEnd(note('answered'))
  await clock.advance(100)
  const late = calls.context()
  leave?.()
  late.onEnd(note('late'))
  await clock.advance(149)
  early.onEnd(note('early'))
  await clock.advance(1)
  await nextEventLoopTick()
  t.same(ended, ['early'])
  await clock.advance(100)
  await nextEventLoopTick()
  t.same(ended, ['early', 'late'])
})
