/** A listener, which is called once per table after each commit that wrote to the table. It must not throw. */
type Listener = (table: string) => void

/** Captures the table that a statement changes. MikroORM quotes names and may add a schema. */
const change = /^\s*(?:insert\s+(?:ignore\s+)?into|update|delete\s+from)\s+[`"]?(?:\w+[`"]?\.[`"]?)?(\w+)/i

/**
 * Notifies listeners of tables that this process has written to. While there are no listeners, statements are not
 * parsed.
 */
export class TableWriteNotifier {
  readonly #listeners = new Map<string, Set<Listener>>()
  /** Tables that the open transaction of a connection has written to. */
  readonly #open = new WeakMap<object, Set<string>>()

  listen(tables: Iterable<string>, listener: Listener): () => void {
    const names = [...tables]
    for (const name of names) {
      const received = this.#listeners.get(name)
      if (received === undefined) this.#listeners.set(name, new Set([listener]))
      else received.add(listener)
    }
    return () => {
      for (const name of names) {
        const received = this.#listeners.get(name)
        received?.delete(listener)
        if (received?.size === 0) this.#listeners.delete(name)
      }
    }
  }

  began(connection: object): void {
    this.#open.set(connection, new Set())
  }

  /**
   * Reports a statement. In a transaction, listeners are notified after the commit. Outside a transaction, the table is
   * returned if it has listeners.
   */
  asked(connection: object, sql: string): string | undefined {
    if (this.#listeners.size === 0) return undefined
    const table = change.exec(sql)?.[1]
    if (table === undefined || !this.#listeners.has(table)) return undefined
    const open = this.#open.get(connection)
    if (open === undefined) return table
    open.add(table)
    return undefined
  }

  committed(connection: object): void {
    const tables = this.#open.get(connection)
    this.#open.delete(connection)
    for (const table of tables ?? []) this.tell(table)
  }

  rolledBack(connection: object): void {
    this.#open.delete(connection)
  }

  tell(table: string): void {
    for (const listener of this.#listeners.get(table) ?? []) listener(table)
  }
}
