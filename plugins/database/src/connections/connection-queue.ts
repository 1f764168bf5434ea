import type { PlinthError } from '@plinth/kernel'

/** Something that is waited for right now. */
interface OpenWait {
  readonly since: number
  readonly endsAt: number
  /** True for a statement on a connection of the pool. */
  readonly isOrdinary: boolean
  /** Called once when it has taken too long. */
  readonly onEnd: () => void
}

/**
 * Waits that have an end. One timer serves all of them: it is set to the earliest end and looks again from there, so a wait
 * that is over in time costs an entry of a set and no timer. It keeps the process alive while there is something to end, and
 * no longer. Time is real and monotonic: what is waited for is a real server.
 */
export class OpenWaits {
  readonly #open = new Set<OpenWait>()
  #timer: NodeJS.Timeout | undefined
  #firesAt = Number.POSITIVE_INFINITY

  /** @param limitMs milliseconds until `onEnd`; `Infinity` for none */
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

  /** Milliseconds since the oldest one began; 0 when there is none. */
  get longestMs(): number {
    for (const { since } of this.#open) return performance.now() - since
    return 0
  }

  /** When the oldest wait for an ordinary statement began; `undefined` when there is none. */
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

/** Longest time in which a statement of a healthy server is expected to end, in milliseconds. */
const maxExpectedMs = 5_000
/** The same as a part of the time that a statement may take. */
const expectedShare = 1 / 6

/**
 * Whether ordinary statements succeed. A reserved statement has a connection of its own, so it may succeed while all
 * connections of the pool are broken.
 */
export class OrdinaryStatements {
  readonly #waits: OpenWaits
  readonly #expectedMs: number
  #failedAt = Number.NEGATIVE_INFINITY
  #succeededAt = Number.NEGATIVE_INFINITY

  /** @param statementMs milliseconds that a statement may take */
  constructor(waits: OpenWaits, statementMs: number) {
    this.#waits = waits
    this.#expectedMs = Math.min(maxExpectedMs, statementMs * expectedShare)
  }

  failed(): void {
    this.#failedAt = performance.now()
  }

  succeeded(): void {
    this.#succeededAt = performance.now()
  }

  /** True when one failed, or waits for longer than expected, and none has succeeded since. */
  get isDoubtful(): boolean {
    if (this.#failedAt > this.#succeededAt) return true
    const since = this.#waits.oldestOrdinary
    return since !== undefined && since > this.#succeededAt && performance.now() - since > this.#expectedMs
  }
}

interface QueueOptions {
  /** Connections for everybody. */
  readonly size: number
  /** Connections besides, for reserved statements alone. */
  readonly reserved: number
  /** Milliseconds that a turn may take to come. */
  readonly waitMs: number
  readonly waits: OpenWaits
  readonly tooLate: () => PlinthError
}

/**
 * Whose turn it is to have a connection, first come, first served. Reserved statements go before all others, and have
 * places of their own where there is more than one connection.
 */
export class ConnectionQueue {
  readonly #options: QueueOptions
  readonly #waiting = { reserved: new Set<() => void>(), common: new Set<() => void>() }
  #taken = 0

  constructor(options: QueueOptions) {
    this.#options = options
  }

  /**
   * Nothing when the turn is there at once.
   *
   * @throws what `tooLate` makes when the turn does not come in time
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
