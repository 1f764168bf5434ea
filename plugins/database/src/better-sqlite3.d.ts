/** The part of better-sqlite3 that is used here. The package has no types. */
declare module 'better-sqlite3' {
  export interface Statement {
    /** True if it returns rows. */
    readonly reader: boolean
    /** True if it changes nothing. */
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
