/** Moves a database in a process of its own, which kills itself at one statement. The argument is JSON. */

import { ConnectionLease, type ConnectionSettings, changeSetsOf, moveDatabase } from '@plinth/database/parts'
import { systemClock } from '@plinth/kernel'
import type { CompiledQuery } from 'kysely'
import { processTablesOf, quickstartPlugins } from './quickstart-plugins.ts'

export interface KillPoint {
  /** Regular expression that matches the statement. */
  readonly statement: string
  /** Number of the matching statement. */
  readonly nth: number
  readonly when: 'before' | 'after'
}

export interface MoveArgument {
  readonly source: ConnectionSettings
  readonly target: ConnectionSettings
  readonly kill?: KillPoint
}

const { source, target, kill }: MoveArgument = JSON.parse(process.argv[2] ?? '{}')

if (kill !== undefined) {
  const pattern = new RegExp(kill.statement)
  let seen = 0
  const { executeQuery } = ConnectionLease.prototype
  ConnectionLease.prototype.executeQuery = async function executeOrDie<R>(
    this: ConnectionLease,
    query: CompiledQuery,
    ...options: [] | [object]
  ) {
    const isPoint = pattern.test(query.sql) && ++seen === kill.nth
    if (isPoint && kill.when === 'before') process.kill(process.pid, 'SIGKILL')
    const result = await executeQuery.call(this, query, ...options)
    if (isPoint) process.kill(process.pid, 'SIGKILL')
    return result as Awaited<ReturnType<typeof executeQuery<R>>>
  } as typeof executeQuery
}

const startedAt = performance.now()
const result = await moveDatabase({
  source,
  target,
  changeSets: changeSetsOf(quickstartPlugins),
  processTables: processTablesOf(quickstartPlugins),
  clock: systemClock,
  signal: new AbortController().signal,
  onProgress: (text) => process.stderr.write(`${text}\n`),
  examine: async () => [],
  isRehearsal: false,
})
const { maxRSS } = process.resourceUsage()
const seconds = (performance.now() - startedAt) / 1000
process.stdout.write(JSON.stringify({ ...result, seconds, maxMegabytes: Math.round(maxRSS / 1024) }))
process.exit()
