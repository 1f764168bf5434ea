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

  /**
   * Throws RangeError for an empty key.
   *
   * @param isKept true for a store in this process, which hashes the key at every call; for another one, to keep all costs more
   */
  of(key: string, isKept: boolean): string {
    return this.#young.get(key) ?? this.#join(key, isKept)
  }

  /** Whoever was denied and hammers comes again soon, and is answered in this process. */
  keepDenied(complete: string): void {
    const key = complete.slice(this.#prefix.length + 1)
    if (!this.#young.has(key)) this.#keep(key)
  }

  #join(key: string, isKept: boolean): string {
    checkKey(key)
    const bounded = boundedKey(key)
    // One that was shortened may be large.
    if (isKept && bounded === key) return this.#keep(key)
    return this.#old.get(key) ?? `${this.#prefix}:${bounded}`
  }

  #keep(key: string): string {
    // Joined so, it is text in one piece, which compares faster than text of two.
    const complete = this.#old.get(key) ?? [this.#prefix, key].join(':')
    if (this.#young.size === most) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, complete)
    return complete
  }
}
