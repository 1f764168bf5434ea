/** Types of better-sqlite3, which has none of its own. */
declare module 'better-sqlite3' {
  export interface Statement {
    /** True if the statement returns rows. */
    readonly reader: boolean
    /** True if the statement changes nothing. */
    readonly readonly: boolean
    /** Returns the first row. */
    get(): Record<string, unknown> | undefined
    all(parameters: readonly unknown[]): Record<string, unknown>[]
    run(parameters: readonly unknown[]): { changes: number; lastInsertRowid: number | bigint }
    iterate(parameters: readonly unknown[]): IterableIterator<Record<string, unknown>>
    safeIntegers(on?: boolean): this
  }
  export default class Database {
    constructor(
      path: string,
      options?: { readonly timeout?: number; readonly fileMustExist?: boolean; readonly readonly?: boolean },
    )
    readonly inTransaction: boolean
    prepare(sql: string): Statement
    exec(sql: string): this
    pragma(text: string, options?: { readonly simple?: boolean }): unknown
    /** Copies the database to a file. `progress` returns the number of pages of the next step. */
    backup(file: string, options: { progress(): number }): Promise<{ readonly totalPages: number }>
    close(): void
  }
}
