import { boundedKey } from './request-rules.ts'

/** A power of two. */
const places = 1024

/**
 * Keys of callers as the stores count them, prefix included. To join two texts and to hash what comes of it, as every
 * look-up in a Map does, costs more than a whole decision in memory, so keys that come again soon are joined once. Each key
 * has one place, which the next key with the same place takes over: ever new keys cost hardly more.
 */
export class CompleteKeys {
  readonly #prefix: string
  readonly #keys: string[] = Array(places).fill('')
  readonly #complete: string[] = Array(places).fill('')

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  of(key: string): string {
    const place = placeOf(key)
    if (this.#keys[place] === key) return this.#complete[place] as string
    const bounded = boundedKey(key)
    const complete = `${this.#prefix}:${bounded}`
    // One that was shortened may be large.
    if (bounded !== key) return complete
    this.#keys[place] = key
    this.#complete[place] = complete
    return complete
  }
}

/** By the end of the key: what tells callers apart stands there. */
function placeOf(key: string): number {
  const { length } = key
  const last = 31 * (31 * key.charCodeAt(length - 3) + key.charCodeAt(length - 2)) + key.charCodeAt(length - 1)
  return (last ^ length) & (places - 1)
}
