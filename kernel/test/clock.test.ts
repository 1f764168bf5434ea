import { setImmediate as nextTurn } from 'node:timers/promises'
import { manualClock } from '@plinth/dev/testing'
import fc from 'fast-check'
import t from 'tap'
import { createTickClock } from '../src/host.ts'
import { systemClock } from '../src/index.ts'

t.test('the cached time is read again in the next tick, is never ahead and never goes back', async (t) => {
  const time = createTickClock(systemClock)
  const steps = fc.array(fc.oneof(fc.constant('turn'), fc.constant('wait'), fc.integer({ min: 1, max: 100 })))
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      let last = time()
      for (const step of steps) {
        const before = systemClock.monotonic()
        if (step === 'turn') await nextTurn()
        else if (step === 'wait') while (systemClock.monotonic() === before);
        for (let readings = 0; readings < (typeof step === 'number' ? step : 1); readings++) {
          const read = time()
          if (read < last || read > systemClock.monotonic()) return false
          last = read
        }
        // The cached time is refreshed in a new tick, and after 32 readings.
        if ((step === 'turn' || (typeof step === 'number' && step > 32)) && last < before) return false
      }
      return true
    }),
    { numRuns: 50 },
  )
  const first = time()
  t.equal(time(), first, 'one time for the calls of one turn')
})

t.test('a clock that a test controls is read on each call', async (t) => {
  const clock = manualClock()
  const time = createTickClock(clock)
  t.equal(time(), 0)
  await clock.advance(7)
  t.equal(time(), 7)
})

t.test('sleeping background work wakes with the other sleepers, and nobody waits for it', async (t) => {
  const clock = manualClock()
  const background = clock.sleep(10, undefined, { keepsAlive: false })
  const other = clock.sleep(20)
  t.equal(clock.sleepers, 1)
  t.same([clock.isAsleepFor(10), clock.isAsleepFor(20)], [true, true])
  await clock.advance(10)
  await background
  t.equal(clock.sleepers, 1)
  t.same([clock.isAsleepFor(10), clock.isAsleepFor(20)], [false, true])
  await clock.advance(10)
  await other
})
