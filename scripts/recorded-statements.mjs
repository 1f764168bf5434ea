import { subscribe } from 'node:diagnostics_channel'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Records each different statement of this process and each place in a plugin that executed it, with the dialect and the first parameters.
 * At the end of the process, writes them to a file in the folder.
 */
export function recordStatements(folder) {
  const found = new Map()
  subscribe('plinth.database.statement', ({ dialect, sql, parameters }) => {
    const place = currentPlace()
    const key = `${dialect} ${place} ${sql}`
    if (!found.has(key)) found.set(key, { dialect, sql, parameters, place })
  })
  process.once('exit', () => {
    const inText = (_, value) => (typeof value === 'bigint' ? String(value) : value)
    const lines = [...found.values()].map((one) => `${JSON.stringify(one, inText)}\n`)
    if (lines.length > 0) writeFileSync(join(folder, `${process.pid}.jsonl`), lines.join(''))
  })
}

/** Files of the plugin `database` that have a text for each dialect. Its tests run them on each database. */
const branching = /plugins\/database\/src\/(?:rows\/purge|time\/[\w-]+)\.ts/

/**
 * Returns the innermost place in the source of a plugin other than `database`. Returns undefined for statements of tests, and of files with
 * a text for each dialect. The ten frames that a stack has by default are too few.
 */
function currentPlace() {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 100
  const { stack = '' } = new Error()
  Error.stackTraceLimit = limit
  const found = /((?:plugins|examples)\/(?!database\/)[\w-]+\/(?!test\/)[\w./-]+\.ts:\d+)/.exec(stack)
  return branching.test(stack.slice(0, found?.index)) ? undefined : found?.[1]
}
