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

/**
 * Returns the innermost place in the source of a plugin other than `database`. Returns undefined for statements of tests. The ten frames
 * that a stack has by default are too few.
 */
function currentPlace() {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 100
  const { stack = '' } = new Error()
  Error.stackTraceLimit = limit
  return /((?:plugins|examples)\/(?!database\/)[\w-]+\/(?!test\/)[\w./-]+\.ts:\d+)/.exec(stack)?.[1]
}
