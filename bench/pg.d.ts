/** Types of the PostgreSQL driver, which has none, as far as used here. */
declare module 'pg' {
  class Client {
    constructor(options: Readonly<Record<string, unknown>>)
    connect(): Promise<void>
    query(query: string | { name: string; text: string; values: readonly unknown[] }): Promise<{
      readonly rowCount: number
      // biome-ignore lint/suspicious/noExplicitAny: rows of any shape
      readonly rows: readonly any[]
    }>
    end(): Promise<void>
  }
  const pg: { readonly Client: typeof Client }
  export default pg
}
