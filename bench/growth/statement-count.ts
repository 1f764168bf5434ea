import { createRequire } from 'node:module'
import Sqlite from 'better-sqlite3'

let count = 0

type Run = (...parameters: unknown[]) => unknown

const { prepare } = Sqlite.prototype
Sqlite.prototype.prepare = function (this: InstanceType<typeof Sqlite>, text: string) {
  const statement = prepare.call(this, text) as unknown as Record<string, Run>
  for (const method of ['run', 'all', 'get', 'iterate']) {
    const run = statement[method] as Run
    statement[method] = (...parameters) => {
      count++
      return run.apply(statement, parameters)
    }
  }
  return statement as never
}

/** The driver of MikroORM, which brings no types. */
const { Client } = createRequire(import.meta.url)('pg') as { readonly Client: { readonly prototype: { query: Run } } }
const { query } = Client.prototype
Client.prototype.query = function (this: unknown, ...parameters) {
  count++
  return query.apply(this, parameters)
}

/** Statements that this process has sent to a database since this module was loaded. Import it before the product. */
export const statementCount = () => count
