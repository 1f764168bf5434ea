/**
 * Predictions from measured rates. The Universal Scalability Law (N. J. Gunther, *Guerrilla Capacity Planning*) says what
 * more instances do: X(n) = n X(1) / (1 + s (n - 1) + k n (n - 1)). `s` is the share of work that cannot run at the same
 * time, `k` the cost of coordination between two instances. Queueing theory (M/G/k) says how long requests wait.
 */

/** Rates per second by number of instances. */
export interface Rates {
  readonly 1: number
  readonly 2: number
  readonly 3: number
  readonly 4: number
}

export interface Scalability {
  /** Contention: the share of work that cannot run at the same time. */
  readonly s: number
  /** Coherence: the cost of coordination for each pair of instances. */
  readonly k: number
}

/** Maximum difference of the predicted rate of three instances from the measured one. */
export const maxTestError = 0.1
/** A prediction is never for more than this number of times the largest measured number of instances. */
export const maxExtrapolation = 4
const largestMeasured = 4

/** Returns the parameters with which the law gives exactly the rates of one, two and four instances. */
export function fitScalability(rates: Pick<Rates, 1 | 2 | 4>): Scalability {
  const loss = (n: 2 | 4) => (n * rates[1]) / rates[n] - 1
  const k = (loss(4) - 3 * loss(2)) / 6
  return { s: loss(2) - 2 * k, k }
}

/**
 * Returns the rate of `n` instances by the law.
 * @param single rate of one instance
 */
export const rateAt = (single: number, { s, k }: Scalability, n: number): number =>
  (n * single) / (1 + s * (n - 1) + k * n * (n - 1))

/** Returns the number of instances with the largest rate; infinite if more instances always do more. */
export const peakOf = ({ s, k }: Scalability): number => (k > 0 ? Math.sqrt(Math.max(0, 1 - s) / k) : Infinity)

export type Prediction =
  | {
      readonly accepted: true
      readonly parameters: Scalability
      /** Difference of the predicted rate of three instances from the measured one, as a share. */
      readonly testError: number
      /** Largest number of instances for which a rate is given. */
      readonly upTo: number
      /** Rates beyond the measured numbers of instances, by number of instances. */
      readonly beyond: Readonly<Record<number, number>>
    }
  | {
      readonly accepted: false
      readonly parameters: Scalability
      readonly testError: number
      /** `negative`: more instances did more than a multiple, which is noise. `test`: the third rate differs too much. */
      readonly reason: 'negative' | 'test'
    }

/**
 * Rounding of the fit that is not a negative parameter. A rate is measured with an error of at least a thousandth.
 */
const rounding = 1e-9

/**
 * Fits the law to one, two and four instances, tests it on three, and predicts more. No prediction is made if a parameter
 * is negative or if the test fails.
 */
export function predict(rates: Rates): Prediction {
  const parameters = fitScalability(rates)
  const testError = Math.abs(rateAt(rates[1], parameters, 3) / rates[3] - 1)
  if (parameters.s < -rounding || parameters.k < -rounding)
    return { accepted: false, parameters, testError, reason: 'negative' }
  if (testError > maxTestError) return { accepted: false, parameters, testError, reason: 'test' }
  const upTo = Math.max(1, Math.floor(Math.min(peakOf(parameters), maxExtrapolation * largestMeasured)))
  const beyond = Object.fromEntries(
    [6, 8, 12, 16].filter((n) => n <= upTo).map((n) => [n, rateAt(rates[1], parameters, n)]),
  )
  return { accepted: true, parameters, testError, upTo, beyond }
}

/**
 * Returns how much the number of calls in progress differs from rate x time (Little's law), as a share. A large difference
 * means that the measurement is wrong.
 *
 * @param inFlight average number of calls in progress
 * @param perSecond calls per second
 * @param meanMs average duration of a call in milliseconds
 */
export const littleError = (inFlight: number, perSecond: number, meanMs: number): number =>
  Math.abs((perSecond * meanMs) / 1_000 / inFlight - 1)

/**
 * Returns the probability that a call has to wait, by the formula of Erlang (C) for `servers` equal servers.
 * @param load share of the capacity that is used, from 0 to below 1
 */
export function waitingProbability(servers: number, load: number): number {
  const offered = servers * load
  // The recursion of Erlang B avoids large factorials.
  let blocked = 1
  for (let n = 1; n <= servers; n++) blocked = (offered * blocked) / (n + offered * blocked)
  return blocked / (1 - load * (1 - blocked))
}

export interface Queue {
  readonly servers: number
  /** Average time in milliseconds for which a call uses a server. */
  readonly serviceMs: number
  /** Standard deviation of this time, divided by its average. */
  readonly variation: number
  /** Share of the capacity that is used, from 0 to below 1. */
  readonly load: number
}

/** Returns the average wait in milliseconds (approximation of Allen and Cunneen for M/G/k). */
export function meanWaitMs({ servers, serviceMs, variation, load }: Queue): number {
  const exponential = (waitingProbability(servers, load) * serviceMs) / (servers * (1 - load))
  return (exponential * (1 + variation ** 2)) / 2
}

/**
 * Returns the wait in milliseconds that the share `part` of all calls does not exceed. The waits of the calls that wait are
 * exponentially distributed, as in M/M/k, with the average of M/G/k.
 */
export function waitQuantileMs(queue: Queue, part: number): number {
  const waiting = waitingProbability(queue.servers, queue.load)
  if (waiting <= 1 - part) return 0
  return (meanWaitMs(queue) / waiting) * Math.log(waiting / (1 - part))
}

const steps = 200

/**
 * Returns the response times that the shares `parts` of all calls do not exceed: the sum of a wait and of a time without
 * waiting, which are independent of each other.
 *
 * @param unloadedMs response times at a very low load, in milliseconds
 */
export function responseQuantilesMs(queue: Queue, unloadedMs: readonly number[], parts: readonly number[]): number[] {
  const sorted = unloadedMs.toSorted((a, b) => a - b)
  const middles = Array.from({ length: steps }, (_, step) => (step + 0.5) / steps)
  const times = middles.map((part) => sorted[Math.floor(part * sorted.length)] ?? Number.NaN)
  const waits = middles.map((part) => waitQuantileMs(queue, part))
  const sums = times.flatMap((time) => waits.map((wait) => time + wait)).sort((a, b) => a - b)
  return parts.map((part) => sums[Math.min(sums.length - 1, Math.floor(part * sums.length))] ?? Number.NaN)
}
