import { createRequire } from 'node:module'
import { performance } from 'node:perf_hooks'
import Sqlite from 'better-sqlite3'

let count = 0
let maxWriteMs = 0

type Run = (...parameters: unknown[]) => unknown

/** Measures the writes of one connection: how long it holds locks, in a transaction or with a single statement. */
class Writing {
  #begun: number | undefined

  /** Call this method before a statement, and call the returned function after the statement. */
  statement(text: string): () => void {
    count++
    const start = performance.now()
    const word = /^\s*(\w+)/.exec(text)?.[1]?.toLowerCase()
    if (word === 'begin' || word === 'start') {
      this.#begun = start
      return () => {}
    }
    const begun = this.#begun
    if (word === 'commit' || word === 'rollback') this.#begun = undefined
    else if (begun !== undefined || word === 'select') return () => {}
    return () => {
      maxWriteMs = Math.max(maxWriteMs, performance.now() - (begun ?? start))
    }
  }
}

const writings = new WeakMap<object, Writing>()
function writingOf(connection: object): Writing {
  const known = writings.get(connection) ?? new Writing()
  writings.set(connection, known)
  return known
}

const { prepare } = Sqlite.prototype
Sqlite.prototype.prepare = function (this: InstanceType<typeof Sqlite>, text: string) {
  const statement = prepare.call(this, text) as unknown as Record<string, Run>
  const writing = writingOf(this)
  for (const method of ['run', 'all', 'get', 'iterate']) {
    const run = statement[method] as Run
    statement[method] = (...parameters) => {
      const end = writing.statement(text)
      const response = run.apply(statement, parameters)
      end()
      return response
    }
  }
  return statement as never
}

/** The PostgreSQL driver that MikroORM uses. It has no types. */
const { Client } = createRequire(import.meta.url)('pg') as { readonly Client: { readonly prototype: { query: Run } } }
const { query } = Client.prototype
Client.prototype.query = function (this: object, ...parameters) {
  const [first] = parameters as [string | { readonly text: string }]
  const end = writingOf(this).statement(typeof first === 'string' ? first : first.text)
  const response = query.apply(this, parameters)
  if (response instanceof Promise) response.then(end, end)
  return response
}

/**
 * Returns the number of statements that this process has sent since this module was loaded. Import this module before
 * the product.
 */
export const statementCount = () => count

/** Returns the duration in milliseconds of the longest transaction or single write since the last call. */
export function takeLongestWriteMs(): number {
  const longest = maxWriteMs
  maxWriteMs = 0
  return longest
}
