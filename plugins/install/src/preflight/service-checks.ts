import { isIP } from 'node:net'
import type { Database } from '@plinth/database'
import { isPlinthError } from '@plinth/kernel'
import { type CheckFinding, type PreflightItem, preflightItem } from './catalogue.ts'
import { type CheckContext, type StorageCheckFunctions, utcText } from './context.ts'

/**
 * Maximum difference between two clocks in milliseconds. With a larger difference, leases and expiry times become
 * wrong.
 */
const maxDifferenceMs = 5_000

const findings: Readonly<Record<string, CheckFinding<'database-connection'>>> = {
  PLINTH_DATABASE_ACCESS_DENIED: 'denied',
  PLINTH_DATABASE_UNKNOWN: 'unknown',
  PLINTH_DATABASE_FILE: 'file',
}

/** Returns the check result for an error code of a connection. */
export const connectionFindingOf = (code: string): CheckFinding<'database-connection'> =>
  findings[code] ?? 'unreachable'

/**
 * Checks the connection, the privileges, the clock and the migrations. If the connection fails, nothing else is
 * checked.
 */
export async function databaseChecks(context: CheckContext): Promise<PreflightItem[]> {
  const { database, databaseFailure, mayWrite, within } = context
  // The check only warns, because the person who installs can correct the connection in the form.
  if (databaseFailure !== undefined)
    return [{ ...preflightItem('database-connection', connectionFindingOf(databaseFailure)), status: 'warning' }]
  if (database === undefined) return [preflightItem('database-connection', 'none')]
  let connection: PreflightItem
  try {
    await within((signal) => database.ping(signal))
    const { product, version } = await within(() => database.server())
    connection = preflightItem('database-connection', 'passed', { product, version })
  } catch (error) {
    return [preflightItem('database-connection', connectionFindingOf(isPlinthError(error) ? error.code : ''))]
  }
  return [
    connection,
    ...(mayWrite ? await privilegeCheck(database, context) : []),
    ...(database.dialect === 'sqlite' ? [] : await clockCheck(database, context)),
    await migrationCheck(database, context),
  ]
}

async function privilegeCheck(database: Database, { probes, within }: CheckContext) {
  const rejected = await within(() => probes.privileges(database)).catch(() => 'create' as const)
  return [preflightItem('database-privileges', rejected ?? 'passed')]
}

async function clockCheck(database: Database, { probes, clock, within }: CheckContext) {
  try {
    const before = clock.now()
    const theirs = await within(() => probes.databaseTime(database))
    const after = clock.now()
    // The database read its clock between the two times of the host.
    const apart = Math.max(before - theirs, theirs - after, 0)
    return [
      preflightItem('database-clock', apart > maxDifferenceMs ? 'apart' : 'passed', {
        seconds: Math.round(apart / 1_000),
      }),
    ]
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
    if (changed.length > 0) return preflightItem('migration-state', 'changed', { ...counts, names: namesOf(changed) })
    if (foreignTables.length > 0)
      return preflightItem('migration-state', 'foreign', { ...counts, names: foreignTables.join(', ') })
    if (lock !== undefined)
      return preflightItem('migration-state', 'locked', { ...counts, host: lock.host, pid: lock.pid })
    if (orphaned.length > 0)
      return preflightItem('migration-state', 'orphaned', { ...counts, names: namesOf(orphaned) })
    return preflightItem('migration-state', tableExists ? 'passed' : 'empty', counts)
  } catch {
    return preflightItem('migration-state', 'unknown')
  }
}

export async function cacheChecks({ cache, clock, within }: CheckContext): Promise<PreflightItem[]> {
  const { isEnabled, serverTime } = cache
  if (serverTime === undefined) return [preflightItem('cache-connection', isEnabled ? 'unreachable' : 'none')]
  try {
    const begin = clock.monotonic()
    const time = await within(serverTime)
    const elapsed = Math.ceil(clock.monotonic() - begin)
    return [preflightItem('cache-connection', 'passed', { time: utcText(time), elapsed })]
  } catch {
    return [preflightItem('cache-connection', 'unreachable')]
  }
}

export async function storageChecks(context: CheckContext): Promise<PreflightItem[]> {
  const { storage } = context
  if (storage === undefined) return [preflightItem('storage-service', 'none')]
  const disks = await Promise.all([
    diskCheck(context, storage, 'storage-public-disk', storage.publicDisk),
    diskCheck(context, storage, 'storage-local-disk', storage.localDisk),
  ])
  return [preflightItem('storage-service', 'passed', { disks: storage.disks().length }), ...disks]
}

async function diskCheck(
  { mayWrite, within }: CheckContext,
  storage: StorageCheckFunctions,
  code: 'storage-public-disk' | 'storage-local-disk',
  disk: string,
): Promise<PreflightItem> {
  const known = storage.disks().find(({ name }) => name === disk)
  if (known === undefined) return preflightItem(code, 'unknown', { disk })
  if (!known.enabled) return preflightItem(code, 'disabled', { disk })
  if (!mayWrite) return preflightItem(code, 'passed', { disk })
  return within((signal) => storage.probe(disk, signal)).then(
    () => preflightItem(code, 'passed', { disk }),
    () => preflightItem(code, 'unusable', { disk }),
  )
}

export async function policyChecks({ policy, database, cache, listener }: CheckContext): Promise<PreflightItem[]> {
  const { isProduction, requireHttps, isHttps, allowLite } = policy
  const plain = requireHttps ? 'refused' : isProduction ? 'unsafe' : 'plain'
  const isLite = (database === undefined || database.dialect === 'sqlite') && !cache.isEnabled
  return [
    preflightItem('https-policy', isHttps ? 'passed' : plain),
    // Lite mode only causes a warning, because the product always runs in lite mode before the form is complete. If
    // lite mode is not allowed, the form is rejected.
    preflightItem('lite-mode', !isLite ? 'passed' : allowLite ? 'lite' : 'refused'),
    preflightItem('listener', isLoopback(listener.host) ? 'loopback' : 'passed', { port: listener.port }),
  ]
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
