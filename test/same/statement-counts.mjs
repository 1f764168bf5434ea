/**
 * Loaded into a product on SQLite with `--import`. For each request with the header `x-recorded-call`, appends a line with the kinds of
 * its statements, such as `select iam_user`, to the file that `RECORDED_STATEMENTS` names.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const statementsOfCall = new AsyncLocalStorage()
const statementsByRequest = new WeakMap()

subscribe('http.server.request.start', ({ request }) => {
  const statements = []
  statementsByRequest.set(request, statements)
  statementsOfCall.enterWith(statements)
})
subscribe('http.server.response.finish', ({ request }) => {
  if (request.headers['x-recorded-call'] !== undefined)
    appendFileSync(process.env.RECORDED_STATEMENTS, `${JSON.stringify(statementsByRequest.get(request))}\n`)
})

// The driver of the checkout whose command line program runs.
const Database = createRequire(process.argv[1])('better-sqlite3')
const prototype = Object.getPrototypeOf(new Database(':memory:').prepare('select 1'))
for (const method of ['run', 'all', 'get', 'iterate']) {
  const execute = prototype[method]
  prototype[method] = function (...parameters) {
    const [, kind = ''] = /^\s*(\w+)/.exec(this.source) ?? []
    const [, table = ''] = /\b(?:from|into|update)\s+["`]?(\w+)/i.exec(this.source) ?? []
    statementsOfCall.getStore()?.push(`${kind} ${table}`.toLowerCase().trim())
    return execute.apply(this, parameters)
  }
}
