import type { Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { timestampToleranceMs } from './canonical-request.ts'
import { refusal } from './failures.ts'

/**
 * How long a nonce is remembered. A request may be dated 300 s ahead and then counts for 600 s; a minute more, because the
 * clocks of two instances differ.
 */
export const nonceLifetimeMs = 2 * timestampToleranceMs + 60_000

/** The nonces that were used lately, on all instances. */
export class Nonces {
  readonly #store: Pick<SharedStore, 'setIfAbsent'>
  readonly #log: Logger

  constructor(store: Pick<SharedStore, 'setIfAbsent'>, log: Logger) {
    this.#store = store
    this.#log = log
  }

  /**
   * Uses a nonce up. Throws "401" `open-platform.nonce-used`; "503" `open-platform.replay-check-unavailable` when the
   * shared store does not answer: what cannot be checked is refused.
   */
  async use(appKey: string, nonce: string): Promise<void> {
    let isFresh: boolean
    try {
      isFresh = await this.#store.setIfAbsent(`open-platform:nonce:${appKey}:${nonce}`, '1', nonceLifetimeMs)
    } catch (error) {
      this.#log.error({ err: error }, 'shared store failed; signed requests are refused')
      throw refusal('replay-check-unavailable', { cause: error })
    }
    if (!isFresh) throw refusal('nonce-used')
  }
}
