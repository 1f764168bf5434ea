/** Since when the server cannot be reached. Every call reports whether it reached the server. */
export class Connection {
  readonly #listeners = new Set<() => void>()
  readonly #now: () => number
  #lostAt: number | undefined

  /** @param now milliseconds since the epoch */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Milliseconds since the epoch; `undefined` while the server can be reached. */
  readonly lostAt = (): number | undefined => this.#lostAt

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A call did not reach the server. The first one counts. */
  readonly lose = (): void => {
    if (this.#lostAt === undefined) this.#set(this.#now())
  }

  /** The server responded. */
  readonly regain = (): void => {
    if (this.#lostAt !== undefined) this.#set(undefined)
  }

  #set(lostAt: number | undefined): void {
    this.#lostAt = lostAt
    for (const listener of this.#listeners) listener()
  }
}
