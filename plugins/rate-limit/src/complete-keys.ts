import { boundedKey, checkKey } from './request-rules.ts'

/** Keys of the younger and of the older half, each. */
const most = 1024

/**
 * Keys of callers as the stores count them, prefix included. To check and to join a text and to hash what comes of it, as
 * every look-up in a Map does, costs more than a whole decision in memory, so it is done once for keys that come again soon.
 */
export class CompleteKeys {
  readonly #prefix: string
  #young = new Map<string, string>()
  #old = new Map<string, string>()

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Throws RangeError for an empty key. */
  of(key: string): string {
    return this.#young.get(key) ?? this.#join(key)
  }

  #join(key: string): string {
    checkKey(key)
    const bounded = boundedKey(key)
    const complete = this.#old.get(key) ?? `${this.#prefix}:${bounded}`
    // One that was shortened may be large.
    if (bounded !== key) return complete
    if (this.#young.size === most) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, complete)
    return complete
  }
}
