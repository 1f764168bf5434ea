import type { Clock } from '@plinth/kernel'
import type { ProviderFault } from '../contract.ts'

export interface BreakerSettings {
  /** Failures in a row after which a provider is left alone. */
  readonly failures: number
  readonly pauseMs: number
}

/** What changed, for the log: a failure is said once, and its end. */
type BreakerChange = 'opened' | 'closed' | undefined

/**
 * Keeps a provider that fails from being tried for every call. After its pause one caller tries; the others still leave it
 * alone until that call has an end.
 */
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

  /** Whether the caller may ask the provider; whoever was let in reports the end. */
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

  /** @param isLasting a fault that waiting does not mend: the provider is left alone at once */
  failed(fault: ProviderFault, isLasting = false): BreakerChange {
    const wasOpen = this.isOpen
    const { failures, pauseMs } = this.#settings()
    this.#failures = isLasting ? failures : Math.min(this.#failures + 1, failures)
    this.#isTrying = false
    this.lastFault = fault
    if (!this.isOpen) return undefined
    this.#openUntil = this.#clock.monotonic() + pauseMs
    return wasOpen ? undefined : 'opened'
  }
}
