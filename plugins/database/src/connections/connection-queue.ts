import type { PlinthError } from '@plinth/kernel'
import type { OpenWaits } from './open-waits.ts'

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
