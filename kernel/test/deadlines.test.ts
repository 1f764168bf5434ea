import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { manualClock } from '@plinth/dev/testing'
import fc from 'fast-check'
import t from 'tap'
import { Deadlines } from '../src/time/deadlines.ts'

t.test(
  'every wait that is not ended expires at its time, whatever the others do, and no timer is left behind',
  async (t) => {
    const plan = fc.array(
      fc.record({
        beginsAt: fc.integer({ min: 0, max: 30 }),
        ms: fc.constantFrom(1, 7, 10),
        endsAfter: fc.option(fc.integer({ min: 0, max: 12 })),
      }),
      { maxLength: 20 },
    )
    await fc.assert(
      fc.asyncProperty(plan, async (calls) => {
        const clock = manualClock()
        const deadlines = new Deadlines(clock)
        const expired = new Map<number, number>()
        const ends = new Map<number, () => void>()
        for (let now = 0; now <= 50; now++) {
          for (const [index, { beginsAt, ms, endsAfter }] of calls.entries()) {
            if (endsAfter !== null && beginsAt + endsAfter === now) ends.get(index)?.()
            if (beginsAt !== now) continue
            const begun = now
            ends.set(
              index,
              deadlines.begin(ms, () => {
                t.notOk(expired.has(index), 'once')
                expired.set(index, clock.monotonic() - begun)
              }),
            )
            if (endsAfter === 0) ends.get(index)?.()
          }
          await clock.advance(1)
        }
        for (const [index, { ms, endsAfter }] of calls.entries()) {
          const isEnded = endsAfter !== null && endsAfter < ms
          if (endsAfter === null || !isEnded) t.equal(expired.get(index), ms, 'at its time')
          else t.notOk(expired.has(index), 'ended before its time')
        }
        t.equal(clock.sleepers, 0)
      }),
      { numRuns: 50 },
    )
  },
)

t.test('waits of the same length share a timer, which is removed with the last wait', async (t) => {
  const clock = manualClock()
  const deadlines = new Deadlines(clock)
  const ends = Array.from({ length: 100 }, () => deadlines.begin(1_000, () => t.fail('none is late')))
  t.equal(clock.sleepers, 1)
  for (const end of ends) end()
  t.equal(clock.sleepers, 0)
  for (const end of ends) end()
  const fired: string[] = []
  deadlines.begin(10, () => {
    fired.push('first')
    deadlines.begin(10, () => fired.push('begun by the first'))
  })
  await clock.advance(10)
  t.same(fired, ['first'])
  await clock.advance(10)
  t.same(fired, ['first', 'begun by the first'])
  t.equal(clock.sleepers, 0)
})

t.test('a wait releases what it holds when it ends, whatever other waits began before or after it', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const clock = manualClock()
  const deadlines = new Deadlines(clock)
  const endFirst = deadlines.begin(1_000, () => t.fail('ended'))
  const ended: WeakRef<object>[] = []
  const hold = () => {
    const held = { answer: 'long' }
    ended.push(new WeakRef(held))
    return deadlines.begin(1_000, () => t.fail(held.answer))
  }
  const open: (() => void)[] = []
  for (let round = 0; round < 1_000; round++) {
    open.push(hold())
    if (open.length > 32) open.shift()?.()
  }
  for (const end of open.splice(0)) end()
  const endLast = deadlines.begin(1_000, () => t.fail('ended'))
  // V8 keeps the target of a dereferenced weak reference alive until the end of the tick.
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  t.equal(ended.filter((one) => one.deref() !== undefined).length, 0)
  endFirst()
  endLast()
  t.equal(clock.sleepers, 0)
})
