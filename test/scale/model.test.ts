/** Tests the model of `bench/scale` on curves and queues whose results are known. */
import fc from 'fast-check'
import t from 'tap'
import {
  fitScalability,
  littleError,
  maxExtrapolation,
  maxTestError,
  meanWaitMs,
  peakOf,
  predict,
  type Rates,
  rateAt,
  responseQuantilesMs,
  type Scalability,
  waitingProbability,
  waitQuantileMs,
} from '../../bench/scale/model.ts'

const ratesOf = (single: number, parameters: Scalability): Rates => ({
  1: single,
  2: rateAt(single, parameters, 2),
  3: rateAt(single, parameters, 3),
  4: rateAt(single, parameters, 4),
})
const isNear = (one: number, other: number, tolerance = 1e-6) =>
  Math.abs(one - other) <= tolerance * Math.max(1, Math.abs(other))

const curves = {
  single: fc.double({ min: 1, max: 1e6, noNaN: true }),
  s: fc.double({ min: 0, max: 0.9, noNaN: true }),
  k: fc.double({ min: 0, max: 0.2, noNaN: true }),
}

t.test('the fit of a curve returns its parameters, and the test on three instances succeeds', async (t) => {
  fc.assert(
    fc.property(curves.single, curves.s, curves.k, (single, s, k) => {
      const rates = ratesOf(single, { s, k })
      const found = fitScalability(rates)
      const prediction = predict(rates)
      return isNear(found.s, s) && isNear(found.k, k) && prediction.accepted && prediction.testError < 1e-6
    }),
  )
  t.pass()
})

t.test('no prediction is beyond the peak or four times the measured instances', async (t) => {
  fc.assert(
    fc.property(curves.single, curves.s, curves.k, (single, s, k) => {
      const prediction = predict(ratesOf(single, { s, k }))
      if (!prediction.accepted) return false
      const numbers = Object.keys(prediction.beyond).map(Number)
      return numbers.every((n) => n <= maxExtrapolation * 4 && n <= peakOf(prediction.parameters))
    }),
  )
  const flat = predict({ 1: 100, 2: 200, 3: 300, 4: 400 })
  t.match(flat, { accepted: true, upTo: 16, beyond: { 6: 600, 16: 1_600 } }, 'an ideal product')
  const early = predict(ratesOf(100, { s: 0.1, k: 0.09 }))
  t.match(early, { accepted: true, upTo: 3, beyond: {} }, 'the peak is at 3.2 instances')
  const slower = predict(ratesOf(100, { s: 0.9, k: 0.2 }))
  t.match(slower, { accepted: true, upTo: 1, beyond: {} }, 'each further instance makes the product slower')
})

t.test('a curve that is no curve of the law is rejected', async (t) => {
  t.hasStrict(
    predict({ 1: 100, 2: 260, 3: 400, 4: 560 }),
    { accepted: false, reason: 'negative' },
    'more than a multiple',
  )
  t.match(predict({ 1: 100, 2: 110, 3: 300, 4: 380 }), { accepted: false }, 'two instances slower than expected')
  const measured = ratesOf(100, { s: 0.2, k: 0.01 })
  const off = (factor: number) => predict({ ...measured, 3: measured[3] * factor })
  t.hasStrict(off(1 + maxTestError + 0.05), { accepted: false, reason: 'test' })
  t.hasStrict(off(1 - maxTestError - 0.05), { accepted: false, reason: 'test' })
  t.match(off(1 + maxTestError / 2), { accepted: true })
})

t.test('rates with noise are predicted within the noise, or not at all', async (t) => {
  const noise = fc.double({ min: 0.98, max: 1.02, noNaN: true })
  fc.assert(
    fc.property(fc.tuple(noise, noise, noise, noise), ([one, two, three, four]) => {
      const exact = ratesOf(1_000, { s: 0.1, k: 0.01 })
      const prediction = predict({ 1: exact[1] * one, 2: exact[2] * two, 3: exact[3] * three, 4: exact[4] * four })
      return !prediction.accepted || Object.values(prediction.beyond).every((rate) => rate > 0)
    }),
  )
  t.pass()
})

t.test("Little's law: the calls in progress are rate x time", async (t) => {
  t.equal(littleError(16, 1_000, 16), 0)
  t.ok(isNear(littleError(16, 1_000, 20), 0.25))
  t.ok(littleError(16, 500, 16) > 0.05)
})

t.test('waits have the values of known queues', async (t) => {
  t.ok(isNear(waitingProbability(1, 0.6), 0.6), 'with one server, a call waits while the server is in use')
  // Erlang C of 2 servers with 1 erlang is 1/3, and of 10 servers with 8 erlangs 0.4092 (tables of Erlang C).
  t.ok(isNear(waitingProbability(2, 0.5), 1 / 3))
  t.ok(isNear(waitingProbability(10, 0.8), 0.4092, 1e-4))
  const queue = { servers: 1, serviceMs: 10, variation: 1, load: 0.8 }
  t.ok(isNear(meanWaitMs(queue), 40), 'M/M/1: service x load / (1 - load)')
  t.ok(isNear(meanWaitMs({ ...queue, variation: 0 }), 20), 'M/D/1: half of it')
  t.equal(waitQuantileMs({ ...queue, load: 0.3 }, 0.5), 0, 'most calls do not wait at a low load')
  t.ok(isNear(waitQuantileMs(queue, 0.95), 50 * Math.log(0.8 / 0.05)))
})

t.test('response times grow with the load and the variation, and never below the times without waiting', async (t) => {
  const unloaded = Array.from({ length: 100 }, (_, index) => 5 + index / 10)
  const share = fc.double({ min: 0.05, max: 0.9, noNaN: true })
  fc.assert(
    fc.property(
      share,
      share,
      fc.double({ min: 0, max: 2, noNaN: true }),
      fc.integer({ min: 1, max: 8 }),
      (a, b, variation, servers) => {
        const at = (load: number) =>
          responseQuantilesMs({ servers, serviceMs: 5, variation, load }, unloaded, [0.5, 0.95])
        const [low = [], high = []] = [at(Math.min(a, b)), at(Math.max(a, b))]
        const idle = responseQuantilesMs({ servers, serviceMs: 5, variation, load: 0 }, unloaded, [0.5, 0.95])
        return low.every((value, index) => value <= (high[index] ?? 0) + 1e-9 && value >= (idle[index] ?? 0) - 1e-9)
      },
    ),
  )
  t.pass()
})
