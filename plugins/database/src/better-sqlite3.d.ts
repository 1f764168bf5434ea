/** Types of better-sqlite3, which has none of its own. */
declare module 'better-sqlite3' {
  export interface Statement {
    /** True if the statement returns rows. */
    readonly reader: boolean
    /** True if the statement changes nothing. */
    readonly readonly: boolean
    all(parameters: readonly unknown[]): Record<string, unknown>[]
    run(parameters: readonly unknown[]): { changes: number; lastInsertRowid: number | bigint }
    iterate(parameters: readonly unknown[]): IterableIterator<Record<string, unknown>>
    safeIntegers(on?: boolean): this
  }
  export default class Database {
    constructor(path: string, options?: { readonly timeout?: number; readonly fileMustExist?: boolean })
    readonly inTransaction: boolean
    prepare(sql: string): Statement
    pragma(text: string): unknown
    close(): void
  }
}
