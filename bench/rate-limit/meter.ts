/** A request to a measured program: run one call with this many concurrent callers until the CPU time is used up. */
export interface Question {
  readonly call: string
  readonly callers: number
  /**
   * CPU time of the calling process, not wall-clock time: on a busy host, a measurement of this duration could contain
   * hardly any calls.
   */
  readonly cpuMs: number
}

export interface Measured {
  readonly calls: number
  readonly perSecond: number
  /** CPU time of the calling process per call, user and system. */
  readonly cpuMicroseconds: number
  /** Quantiles of the call times in milliseconds; 0 if the calls are too short to be timed individually. */
  readonly p50: number
  readonly p99: number
}

type Call = () => unknown

/**
 * Measures these calls on request until the parent process ends. A call whose name begins with "sync" is not awaited.
 */
export function response(calls: Readonly<Record<string, Call>>): void {
  process.on('message', async ({ call, callers, cpuMs }: Question) => {
    const measured = calls[call]
    if (measured === undefined) throw new RangeError(`no call ${call}`)
    const turn = new Turn(cpuMs)
    const times = call.startsWith('sync') ? repeat(measured, turn) : await repeatAsync(measured, callers, turn)
    process.send?.(turn.summary(times))
  })
  process.once('disconnect', () => process.exit())
  process.send?.({ ready: true })
}

/** One measurement. Counts calls until the CPU time is used up. */
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
    // A check costs as much as several calls.
    this.#nextLook = this.#calls + 500
    this.isOver = this.#used() >= this.#cpuMicroseconds
  }

  summary(times: number[]): Measured {
    const seconds = (performance.now() - this.#startedAt) / 1000
    // Computed before the sort, whose CPU time must not count.
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

/** Only calls that take longer are timed individually. For faster calls, reading the clock would dominate. */
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

/** Measures CPU time, because every call takes long in wall-clock time on a busy host. */
async function isSlow(call: Call): Promise<boolean> {
  const cpuAtStart = process.cpuUsage()
  for (let count = 0; count < 100; count++) await call()
  const { user, system } = process.cpuUsage(cpuAtStart)
  return (user + system) / 100 > timedFromMicroseconds
}

/**
 * Runs every call for a while. If a process only called one store, its code would be optimised for that store. A
 * product has several stores, so each measured process uses several, too.
 */
export async function warm(calls: readonly Call[]): Promise<void> {
  for (let round = 0; round < 2; round++) {
    for (const call of calls) {
      for (let batch = 0; batch < 100; batch++) await Promise.all(Array.from({ length: 50 }, call))
    }
  }
}

/** Returns ten thousand keys in turn. */
export function keyRing(prefix: string): () => string {
  const keys = Array.from({ length: 10_000 }, (_, index) => `${prefix}:${index}`)
  let at = 0
  return () => {
    at = (at + 1) % keys.length
    return keys[at] as string
  }
}
