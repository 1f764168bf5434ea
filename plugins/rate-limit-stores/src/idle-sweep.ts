import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '@plinth/kernel'

/** Milliseconds between two passes, and before the first one. */
const passPauseMs = 300_000
/** Milliseconds between two steps of a pass: a million keys that are over are gone after two minutes. */
const stepPauseMs = 20

/** What a sweep works on. */
export interface Swept {
  /** What is held, also what is over. */
  readonly size: number
  /** One bounded step of a pass over all of it; false when the pass is over. */
  sweep(): boolean
}

/**
 * Gives back what is over when nobody calls any more: stores purge with their calls alone. It runs while something is held and
 * does not keep the process alive.
 */
export class IdleSweep {
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #ended = new AbortController()
  /** It belongs to no caller, so it must not keep what belongs to one. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #runs = false

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock
  }

  /** Something is held now. Begins the sweep unless it runs or was stopped. */
  held(swept: Swept): void {
    if (this.#runs) return
    this.#runs = true
    void this.#outside(() => this.#run(swept))
  }

  /** Ends the sweep for good. */
  stop(): void {
    this.#runs = true
    this.#ended.abort()
  }

  async #run(swept: Swept): Promise<void> {
    while (swept.size > 0) {
      await this.#pause(passPauseMs)
      while (!this.#ended.signal.aborted && swept.sweep()) await this.#pause(stepPauseMs)
      if (this.#ended.signal.aborted) return
    }
    this.#runs = false
  }

  #pause(ms: number): Promise<void> {
    return this.#clock.sleep(ms, this.#ended.signal, { keepsAlive: false })
  }
}
