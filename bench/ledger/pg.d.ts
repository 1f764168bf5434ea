/** As much of the driver of PostgreSQL as is used here: it brings no types. */
declare module 'pg' {
  export interface PoolClient {
    query(query: string | { name: string; text: string; values: readonly unknown[] }): Promise<{
      readonly rowCount: number
      // biome-ignore lint/suspicious/noExplicitAny: rows of any shape
      readonly rows: readonly any[]
    }>
    release(): void
  }
  class Pool {
    constructor(options: Readonly<Record<string, unknown>>)
    connect(): Promise<PoolClient>
    end(): Promise<void>
  }
  const pg: { readonly Pool: typeof Pool }
  export default pg
}
