/** Value for a `?`. A date is stored like a `timestamp` column, a boolean like a `boolean` column. */
export type Parameter = string | number | bigint | boolean | null | Date | Uint8Array

/**
 * Checks that all parameters can be stored exactly. Fractions are allowed, integers above 2^53 - 1 are not.
 *
 * @throws TypeError for `undefined`
 * @throws RangeError for numbers that are not exact
 */
export function assertBindable(parameters: readonly Parameter[]): void {
  for (let index = 0; index < parameters.length; index++) {
    const value = parameters[index]
    if (value === undefined) throw new TypeError(`Parameter ${index + 1} is undefined; say null.`)
    if (typeof value !== 'number' || Number.isSafeInteger(value)) continue
    if (!Number.isFinite(value) || Number.isInteger(value)) {
      throw new RangeError(`Parameter ${index + 1} is ${value}, which is no exact number; use bigint or text.`)
    }
  }
}

/** Caches one result per statement text, at most `limit` results. */
export class StatementCache<T> {
  readonly #entries = new Map<string, T>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get(text: string, make: (text: string) => T): T {
    const known = this.#entries.get(text)
    if (known !== undefined) {
      if (this.#entries.size >= this.#limit) this.#touch(text, known)
      return known
    }
    const made = make(text)
    this.#entries.set(text, made)
    if (this.#entries.size > this.#limit) {
      const [oldest] = this.#entries.keys()
      if (oldest !== undefined) this.#entries.delete(oldest)
    }
    return made
  }

  #touch(text: string, value: T): void {
    this.#entries.delete(text)
    this.#entries.set(text, value)
  }
}

/** Replaces each `?` outside quotes by `$1`, `$2`, ... */
export function numberPlaceholders(text: string): string {
  let count = 0
  return text.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|\?/g, (part) => (part === '?' ? `$${++count}` : part))
}
