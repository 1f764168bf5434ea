/** A value that parts of the page follow. `useSyncExternalStore` needs its functions `subscribe` and `current`. */
export class Store<Value> {
  #value: Value
  readonly #listeners = new Set<() => void>()

  constructor(value: Value) {
    this.#value = value
  }

  readonly current = (): Value => this.#value

  /** Calls the listener after each change. Call the returned function to unsubscribe. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  protected set(value: Value): void {
    this.#value = value
    for (const listener of this.#listeners) listener()
  }
}
