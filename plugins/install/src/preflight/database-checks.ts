import type { Database } from '@plinth/database'
import { isPlinthError } from '@plinth/kernel'
import { type Finding, item, type PreflightItem } from './catalogue.ts'
import type { CheckContext } from './context.ts'

/** Clocks that differ by more make leases and expiry times look wrong. */
const mostApartMs = 5_000

const findings: Readonly<Record<string, Finding<'database-connection'>>> = {
  PLINTH_DATABASE_ACCESS_DENIED: 'denied',
  PLINTH_DATABASE_UNKNOWN: 'unknown',
  PLINTH_DATABASE_FILE: 'file',
}

/** What the error of a connection comes to. */
export const findingOf = (code: string): Finding<'database-connection'> => findings[code] ?? 'unreachable'

/** Connection, privileges, clock and state of the migrations. Without a connection nothing else is looked at. */
export async function databaseChecks(context: CheckContext): Promise<PreflightItem[]> {
  const { database, databaseFailure, mayWrite, within } = context
  // A warning: the form is there to correct it.
  if (databaseFailure !== undefined)
    return [{ ...item('database-connection', findingOf(databaseFailure)), status: 'warning' }]
  if (database === undefined) return [item('database-connection', 'none')]
  let connection: PreflightItem
  try {
    await within((signal) => database.ping(signal))
    const { product, version } = await within(() => database.server())
    connection = item('database-connection', 'passed', { product, version })
  } catch (error) {
    return [item('database-connection', findingOf(isPlinthError(error) ? error.code : ''))]
  }
  return [
    connection,
    ...(mayWrite ? await privilegeCheck(database, context) : []),
    ...(database.dialect === 'sqlite' ? [] : await clockCheck(database, context)),
    await migrationCheck(database, context),
  ]
}

async function privilegeCheck(database: Database, { probes, within }: CheckContext) {
  const refused = await within(() => probes.privileges(database)).catch(() => 'create' as const)
  return [item('database-privileges', refused ?? 'passed')]
}

async function clockCheck(database: Database, { probes, clock, within }: CheckContext) {
  try {
    const before = clock.now()
    const theirs = await within(() => probes.databaseTime(database))
    const after = clock.now()
    // Somewhere between the two moments the database looked at its clock.
    const apart = Math.max(before - theirs, theirs - after, 0)
    return [item('database-clock', apart > mostApartMs ? 'apart' : 'passed', { seconds: Math.round(apart / 1_000) })]
  } catch {
    return []
  }
}

async function migrationCheck(database: Database, { within }: CheckContext): Promise<PreflightItem> {
  try {
    const { table, tableExists, applied, pending, changed, orphaned, foreignTables, lock } = await within(() =>
      database.migrationStatus(),
    )
    const counts = { table, applied: applied.length, pending: pending.length }
    const namesOf = (sets: typeof changed) => sets.map(({ plugin, id }) => `${plugin}/${id}`).join(', ')
    if (changed.length > 0) return item('migration-state', 'changed', { ...counts, names: namesOf(changed) })
    if (foreignTables.length > 0)
      return item('migration-state', 'foreign', { ...counts, names: foreignTables.join(', ') })
    if (lock !== undefined) return item('migration-state', 'locked', { ...counts, host: lock.host, pid: lock.pid })
    if (orphaned.length > 0) return item('migration-state', 'orphaned', { ...counts, names: namesOf(orphaned) })
    return item('migration-state', tableExists ? 'passed' : 'empty', counts)
  } catch {
    return item('migration-state', 'unknown')
  }
}
