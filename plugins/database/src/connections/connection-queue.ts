import type { PlinthError } from '@plinth/kernel'

interface OpenWait {
  readonly since: number
  readonly endsAt: number
  /** True for a statement on a connection of the pool. */
  readonly isOrdinary: boolean
  /** Called once when the time limit is reached. */
  readonly onEnd: () => void
}

/**
 * The current waits, each with a time limit. One timer serves all of them and is set to the earliest limit. It uses
 * real time, because the waits are for real servers. It keeps the process alive only while there is a wait.
 */
export class WaitTimeouts {
  readonly #open = new Set<OpenWait>()
  #timer: NodeJS.Timeout | undefined
  #firesAt = Number.POSITIVE_INFINITY

  /** @param limitMs milliseconds until `onEnd`; `Infinity` for no limit */
  open(limitMs: number, onEnd: () => void, isOrdinary = false): OpenWait {
    const since = performance.now()
    const wait = { since, endsAt: since + limitMs, isOrdinary, onEnd }
    if (this.#open.size === 0) this.#timer?.ref()
    this.#open.add(wait)
    if (wait.endsAt < this.#firesAt) this.#arm(wait.endsAt)
    return wait
  }

  close(wait: OpenWait): void {
    this.#open.delete(wait)
    if (this.#open.size === 0) this.#timer?.unref()
  }

  /** Milliseconds since the oldest open wait began; 0 if there is none. */
  get maxMs(): number {
    for (const { since } of this.#open) return performance.now() - since
    return 0
  }

  /** Start of the oldest wait for a statement in the pool. */
  get oldestOrdinary(): number | undefined {
    for (const { since, isOrdinary } of this.#open) if (isOrdinary) return since
    return undefined
  }

  #arm(at: number): void {
    clearTimeout(this.#timer)
    this.#firesAt = at
    this.#timer = setTimeout(() => this.#look(), Math.max(1, Math.ceil(at - performance.now())))
  }

  #look(): void {
    this.#timer = undefined
    this.#firesAt = Number.POSITIVE_INFINITY
    const now = performance.now()
    let next = Number.POSITIVE_INFINITY
    for (const wait of [...this.#open]) {
      if (wait.endsAt > now) {
        next = Math.min(next, wait.endsAt)
        continue
      }
      this.#open.delete(wait)
      wait.onEnd()
    }
    if (next < this.#firesAt) this.#arm(next)
  }
}

/** Maximum milliseconds that a statement on a healthy server should take. */
const maxExpectedMs = 5_000
/** The maximum of `maxExpectedMs` as a fraction of the statement timeout. The smaller of the two values applies. */
const expectedShare = 1 / 6

/**
 * Records whether statements in the pool succeed. Reserved statements are not recorded, because they use separate
 * connections and prove nothing about the pool.
 */
export class PoolStatementLog {
  readonly #waits: WaitTimeouts
  readonly #expectedMs: number
  #failedAt = Number.NEGATIVE_INFINITY
  #succeededAt = Number.NEGATIVE_INFINITY

  constructor(waits: WaitTimeouts, statementMs: number) {
    this.#waits = waits
    this.#expectedMs = Math.min(maxExpectedMs, statementMs * expectedShare)
  }

  failed(): void {
    this.#failedAt = performance.now()
  }

  succeeded(): void {
    this.#succeededAt = performance.now()
  }

  /** True if a statement failed or takes longer than expected, and no statement has succeeded since. */
  get isDoubtful(): boolean {
    if (this.#failedAt > this.#succeededAt) return true
    const since = this.#waits.oldestOrdinary
    return since !== undefined && since > this.#succeededAt && performance.now() - since > this.#expectedMs
  }
}

interface QueueOptions {
  /** Number of connections for all statements. */
  readonly size: number
  /** Number of additional connections for reserved statements. */
  readonly reserved: number
  /** Maximum time in milliseconds that a statement waits for a connection. */
  readonly waitMs: number
  readonly waits: WaitTimeouts
  readonly tooLate: () => PlinthError
}

/**
 * Assigns connections in the order of the requests. Reserved statements go first. On a database server, they also have
 * additional connections.
 */
export class ConnectionQueue {
  readonly #options: QueueOptions
  readonly #waiting = { reserved: new Set<() => void>(), common: new Set<() => void>() }
  #taken = 0

  constructor(options: QueueOptions) {
    this.#options = options
  }

  /**
   * Returns `undefined` if a connection is free, otherwise a promise for one.
   *
   * @throws the error of `tooLate` if none becomes free in time
   */
  take(isReserved: boolean): Promise<void> | undefined {
    const { size, reserved, waits, waitMs, tooLate } = this.#options
    if (this.#taken < (isReserved ? size + reserved : size)) {
      this.#taken++
      return undefined
    }
    const line = isReserved ? this.#waiting.reserved : this.#waiting.common
    return new Promise((resolve, reject) => {
      const wait = waits.open(waitMs, () => {
        line.delete(begin)
        reject(tooLate())
      })
      const begin = () => {
        waits.close(wait)
        resolve()
      }
      line.add(begin)
    })
  }

  give(): void {
    const { size, reserved } = this.#options
    this.#taken--
    const line =
      this.#waiting.reserved.size > 0 && this.#taken < size + reserved
        ? this.#waiting.reserved
        : this.#taken < size
          ? this.#waiting.common
          : undefined
    const [next] = line ?? []
    if (line === undefined || next === undefined) return
    line.delete(next)
    this.#taken++
    next()
  }
}
