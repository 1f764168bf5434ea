import type { OpenWaits } from './open-waits.ts'

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
