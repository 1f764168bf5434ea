import type { Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { refusal } from '../failures.ts'
import { timestampToleranceMs } from './canonical-request.ts'

/**
 * How long a nonce is remembered. A request may be dated 300 s ahead and then counts for 600 s; a minute more, because the
 * clocks of two instances differ.
 */
const nonceLifetimeMs = 2 * timestampToleranceMs + 60_000

/** The nonces that were used lately, on all instances. */
export class Nonces {
  readonly #store: Pick<SharedStore, 'get' | 'setIfAbsent'>
  readonly #log: Logger

  constructor(store: Pick<SharedStore, 'get' | 'setIfAbsent'>, log: Logger) {
    this.#store = store
    this.#log = log
  }

  /**
   * Refuses a request that was served before, and writes nothing. Throws as `use` does. A request that passes may still meet
   * itself in `use`.
   */
  async assertUnused(appKey: string, nonce: string): Promise<void> {
    if ((await this.#reach(() => this.#store.get(keyOf(appKey, nonce)))) !== undefined) throw refusal('nonce-used')
  }

  /**
   * Uses a nonce up: of all that come with it one succeeds. Throws "401" `open-platform.nonce-used`; "503"
   * `open-platform.replay-check-unavailable` when the shared store does not answer: what cannot be checked is refused.
   */
  async use(appKey: string, nonce: string): Promise<void> {
    const isFresh = await this.#reach(() => this.#store.setIfAbsent(keyOf(appKey, nonce), '1', nonceLifetimeMs))
    if (!isFresh) throw refusal('nonce-used')
  }

  async #reach<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      this.#log.error({ err: error }, 'shared store failed; signed requests are refused')
      throw refusal('replay-check-unavailable', { cause: error })
    }
  }
}

const keyOf = (appKey: string, nonce: string) => `open-platform:nonce:${appKey}:${nonce}`
