import type { Clock } from '@plinth/kernel'
import type { ProviderFault } from '../contract.ts'

export interface BreakerSettings {
  /** Consecutive failures after which a provider is paused. */
  readonly failures: number
  readonly pauseMs: number
}

/** Change of state to log. Each start and end of a pause is logged once. */
type BreakerChange = 'opened' | 'closed' | undefined

/** Pauses a provider that fails. After the pause, one caller may use it. Other callers wait until this attempt ends. */
export class CircuitBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #settings: () => BreakerSettings
  #failures = 0
  #openUntil = 0
  #isTrying = false
  lastFault: ProviderFault | undefined

  constructor(clock: Pick<Clock, 'monotonic'>, settings: () => BreakerSettings) {
    this.#clock = clock
    this.#settings = settings
  }

  get isOpen(): boolean {
    return this.#failures >= this.#settings().failures
  }

  /** True if the caller may use the provider. The caller must then report success or failure. */
  enter(): boolean {
    if (!this.isOpen) return true
    if (this.#isTrying || this.#clock.monotonic() < this.#openUntil) return false
    this.#isTrying = true
    return true
  }

  succeeded(): BreakerChange {
    const wasOpen = this.isOpen
    this.#failures = 0
    this.#isTrying = false
    this.lastFault = undefined
    return wasOpen ? 'closed' : undefined
  }

  /** @param isLasting true for a failure that does not end without a change; it pauses the provider immediately */
  failed(problem: ProviderFault, isLasting = false): BreakerChange {
    const wasOpen = this.isOpen
    const { failures, pauseMs } = this.#settings()
    this.#failures = isLasting ? failures : Math.min(this.#failures + 1, failures)
    this.#isTrying = false
    this.lastFault = problem
    if (!this.isOpen) return undefined
    this.#openUntil = this.#clock.monotonic() + pauseMs
    return wasOpen ? undefined : 'opened'
  }
}
