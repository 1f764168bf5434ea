/** Figures of the calls of one process during a measurement. */
export interface Sample {
  /** Calls that ended, and those of them that failed. */
  readonly calls: number
  readonly failures: number
  /** Average duration of these calls in milliseconds. */
  readonly meanMs: number
  /** Average number of calls in progress. */
  readonly inFlight: number
  /** Elapsed time in milliseconds. */
  readonly ms: number
}

/** Counts calls and the number of calls in progress, between `begin` and `end`. */
export class Meter {
  #begunAt: number | undefined
  #calls = 0
  #failures = 0
  #sumMs = 0
  /** Calls in progress, now, and their sum over time. */
  #open = 0
  #openMs = 0
  #changedAt = 0

  begin(): void {
    this.#begunAt = performance.now()
    this.#changedAt = this.#begunAt
    this.#calls = 0
    this.#failures = 0
    this.#sumMs = 0
    this.#openMs = 0
  }

  /** Measures a call. A call that ends outside of the measurement is not counted. @throws the error of the call */
  async measure(call: () => Promise<unknown>): Promise<void> {
    const begin = performance.now()
    this.#change(1, begin)
    let failures = 1
    try {
      await call()
      failures = 0
    } finally {
      const end = performance.now()
      this.#change(-1, end)
      if (this.#begunAt !== undefined) {
        this.#calls += 1
        this.#failures += failures
        this.#sumMs += end - begin
      }
    }
  }

  /** Counts a call that began at `begin` (monotonic milliseconds) and has just ended. */
  ended(begin: number): void {
    if (this.#begunAt === undefined) return
    const ms = performance.now() - begin
    this.#calls += 1
    this.#sumMs += ms
    // Includes the time before the measurement, instead of that of the calls that are open at its end.
    this.#openMs += ms
  }

  end(): Sample {
    const now = performance.now()
    this.#change(0, now)
    const ms = now - (this.#begunAt ?? now)
    this.#begunAt = undefined
    return {
      calls: this.#calls,
      failures: this.#failures,
      meanMs: this.#sumMs / this.#calls,
      inFlight: this.#openMs / ms,
      ms,
    }
  }

  #change(by: 1 | 0 | -1, now: number): void {
    this.#openMs += this.#open * (now - this.#changedAt)
    this.#changedAt = now
    this.#open += by
  }
}

/** Adds the samples of several processes that were measured at the same time. */
export function addSamples(samples: readonly Sample[]): Sample {
  const calls = samples.reduce((sum, sample) => sum + sample.calls, 0)
  return {
    calls,
    failures: samples.reduce((sum, sample) => sum + sample.failures, 0),
    meanMs: samples.reduce((sum, sample) => sum + (sample.calls === 0 ? 0 : sample.meanMs * sample.calls), 0) / calls,
    inFlight: samples.reduce((sum, sample) => sum + sample.inFlight, 0),
    ms: samples.reduce((sum, sample) => sum + sample.ms, 0) / samples.length,
  }
}
