/** Types of the members of the PostgreSQL driver that are used here. The driver has no types. */
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
