/** Hears of a table once for each commit that wrote to it. It must not throw. */
type Listener = (table: string) => void

/** The table that a statement changes. Names of MikroORM are quoted, and may come with a schema. */
const change = /^\s*(?:insert\s+(?:ignore\s+)?into|update|delete\s+from)\s+[`"]?(?:\w+[`"]?\.[`"]?)?(\w+)/i

/**
 * Which tables this process has written to, for whoever asked to hear of them. While nobody has, a statement costs one look
 * at a number; otherwise those that change nothing cost a look at their first letters.
 */
export class WrittenTables {
  readonly #listeners = new Map<string, Set<Listener>>()
  /** By connection: tables that its open transaction has written to. */
  readonly #open = new WeakMap<object, Set<string>>()

  listen(tables: Iterable<string>, listener: Listener): () => void {
    const names = [...tables]
    for (const name of names) {
      const heard = this.#listeners.get(name)
      if (heard === undefined) this.#listeners.set(name, new Set([listener]))
      else heard.add(listener)
    }
    return () => {
      for (const name of names) {
        const heard = this.#listeners.get(name)
        heard?.delete(listener)
        if (heard?.size === 0) this.#listeners.delete(name)
      }
    }
  }

  began(connection: object): void {
    this.#open.set(connection, new Set())
  }

  /** A statement is asked for. Inside a transaction it counts with the commit; the answer is the table when it counts by itself. */
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
