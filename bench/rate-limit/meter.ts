/** A request to a measured program: repeat one call with this many concurrent callers until the CPU time is used up. */
export interface MeterRequest {
  readonly call: string
  readonly callers: number
  /**
   * CPU time of the calling process in milliseconds. Elapsed time is not used, because on a busy host such a time could
   * contain hardly any calls.
   */
  readonly cpuMs: number
}

export interface Measured {
  readonly calls: number
  readonly perSecond: number
  /** CPU time of the calling process per call in microseconds, user and system time together. */
  readonly cpuMicroseconds: number
  /** Quantiles of the durations in milliseconds; 0 if the calls are too short to measure each of them. */
  readonly p50: number
  readonly p99: number
}

type Call = () => unknown

/**
 * Measures the given calls on request until the parent process ends. If the name of a call begins with "sync", the call
 * is not awaited.
 */
export function serveMeasurements(calls: Readonly<Record<string, Call>>): void {
  process.on('message', async ({ call, callers, cpuMs }: MeterRequest) => {
    const measured = calls[call]
    if (measured === undefined) throw new RangeError(`no call ${call}`)
    const turn = new Turn(cpuMs)
    const times = call.startsWith('sync') ? repeat(measured, turn) : await repeatAsync(measured, callers, turn)
    process.send?.(turn.summary(times))
  })
  process.once('disconnect', () => process.exit())
  process.send?.({ ready: true })
}

/** One measurement. It counts calls until the CPU time is used up. */
class Turn {
  readonly #startedAt = performance.now()
  readonly #cpuAtStart = process.cpuUsage()
  readonly #cpuMicroseconds: number
  #calls = 0
  #nextLook = 0
  isOver = false

  constructor(cpuMs: number) {
    this.#cpuMicroseconds = 1000 * cpuMs
  }

  count(calls: number): void {
    this.#calls += calls
    if (this.#calls < this.#nextLook) return
    // The CPU time is not checked after each call, because a check costs as much as several calls.
    this.#nextLook = this.#calls + 500
    this.isOver = this.#used() >= this.#cpuMicroseconds
  }

  summary(times: number[]): Measured {
    const seconds = (performance.now() - this.#startedAt) / 1000
    // The CPU time is read before the sort, which must not be measured.
    const cpuMicroseconds = this.#used() / this.#calls
    times.sort((a, b) => a - b)
    const quantile = (part: number) => times[Math.floor(part * times.length)] ?? 0
    return {
      calls: this.#calls,
      perSecond: this.#calls / seconds,
      cpuMicroseconds,
      p50: quantile(0.5),
      p99: quantile(0.99),
    }
  }

  #used(): number {
    const { user, system } = process.cpuUsage(this.#cpuAtStart)
    return user + system
  }
}

function repeat(call: Call, turn: Turn): number[] {
  while (!turn.isOver) {
    for (let count = 0; count < 1000; count++) call()
    turn.count(1000)
  }
  return []
}

/**
 * Minimum duration in microseconds of a call that is measured alone. For faster calls, reading the clock would take
 * longer than the call.
 */
const timedFromMicroseconds = 5

async function repeatAsync(call: Call, callers: number, turn: Turn): Promise<number[]> {
  const times: number[] = []
  const timed = async () => {
    for (let at = performance.now(); !turn.isOver; ) {
      await call()
      const now = performance.now()
      times.push(now - at)
      at = now
      turn.count(1)
    }
  }
  const untimed = async () => {
    while (!turn.isOver) {
      for (let count = 0; count < 1000; count++) await call()
      turn.count(1000)
    }
  }
  const caller = callers > 1 || (await isSlow(call)) ? timed : untimed
  await Promise.all(Array.from({ length: callers }, caller))
  return times
}

/**
 * True if a call takes long enough to be measured alone. It is decided by CPU time, because on a busy host every call
 * takes long.
 */
async function isSlow(call: Call): Promise<boolean> {
  const cpuAtStart = process.cpuUsage()
  for (let count = 0; count < 100; count++) await call()
  const { user, system } = process.cpuUsage(cpuAtStart)
  return (user + system) / 100 > timedFromMicroseconds
}

/**
 * Runs every call for a while. If a process used only one store, V8 would optimise its code for this store. A product
 * has several stores, so each measured process uses several too.
 */
export async function warmUp(calls: readonly Call[]): Promise<void> {
  for (let round = 0; round < 2; round++) {
    for (const call of calls) {
      for (let batch = 0; batch < 100; batch++) await Promise.all(Array.from({ length: 50 }, call))
    }
  }
}

/** Returns a function that returns ten thousand keys, one after the other. */
export function keyRing(prefix: string): () => string {
  const keys = Array.from({ length: 10_000 }, (_, index) => `${prefix}:${index}`)
  let at = 0
  return () => {
    at = (at + 1) % keys.length
    return keys[at] as string
  }
}
