import type { Clock, Logger, RateLimitStore } from '@plinth/kernel'
import type { Deadlines } from './deadlines.ts'

export interface StoreWatchParts {
  readonly clock: Clock
  readonly log: Logger
  readonly deadlines: () => Deadlines
  /** Part of the key that is looked at to see whether a store answers. */
  readonly keyPrefix: string
}

/** Delay between two looks at a store that fails, milliseconds. */
const lookAgainMs = 500
/** A store of this process fails for single keys; one line in this time is enough, milliseconds. */
const quietMs = 10_000

/**
 * Knows which shared stores fail. From its first failure such a store is not asked any more, so that nobody waits for it,
 * until it has answered a look in the background. It tells the log once when it begins and once when it ends.
 */
export class StoreWatch {
  readonly #parts: StoreWatchParts
  readonly #failing = new Set<string>()
  readonly #toldAt = new Map<string, number>()
  readonly #stopped = new AbortController()

  constructor(parts: StoreWatchParts) {
    this.#parts = parts
  }

  isFailing(name: string): boolean {
    return this.#failing.size > 0 && this.#failing.has(name)
  }

  /** Takes note that a call of the store failed. */
  failed(name: string, store: RateLimitStore, cause: unknown): void {
    if (store.traits.shared) this.#begin(name, store, cause)
    else this.#tell(name, cause)
  }

  stop(): void {
    this.#stopped.abort()
  }

  #begin(name: string, store: RateLimitStore, cause: unknown): void {
    if (this.#failing.has(name) || this.#stopped.signal.aborted) return
    this.#failing.add(name)
    this.#parts.log.error(
      { err: cause, store: name },
      'rate limit store failed: it is not asked until it answers again',
    )
    void this.#lookUntilItAnswers(name, store)
  }

  async #lookUntilItAnswers(name: string, store: RateLimitStore): Promise<void> {
    const { clock, log, deadlines, keyPrefix } = this.#parts
    const { signal } = this.#stopped
    const request = { key: `${keyPrefix}:store-watch`, limit: 1, windowMs: 1000, cost: 1 }
    while (!signal.aborted) {
      try {
        await deadlines().run((context) => store.peek(request, context))
        this.#failing.delete(name)
        log.info({ store: name }, 'rate limit store answers again')
        return
      } catch {
        // The failure that began it is in the log.
        await clock.sleep(lookAgainMs, signal)
      }
    }
  }

  #tell(name: string, cause: unknown): void {
    const now = this.#parts.clock.monotonic()
    if (now - (this.#toldAt.get(name) ?? Number.NEGATIVE_INFINITY) < quietMs) return
    this.#toldAt.set(name, now)
    this.#parts.log.error({ err: cause, store: name }, 'rate limit store failed')
  }
}
