import { codeOf, type PlinthError, reasonOf } from '@plinth/kernel'
import { databaseError } from '../errors.ts'
import type { ConnectionSettings } from './connection-settings.ts'

/** Where a database is, for people. No credentials. */
export function placeOf(settings: ConnectionSettings): string {
  return settings.type === 'sqlite' ? settings.file : `${settings.host}:${settings.port}/${settings.name}`
}

type Failure = 'PLINTH_DATABASE_UNREACHABLE' | 'PLINTH_DATABASE_ACCESS_DENIED' | 'PLINTH_DATABASE_UNKNOWN'

/** What the drivers say when a connection cannot be had: SQLSTATE, error number or system code. */
const known: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: 'PLINTH_DATABASE_UNREACHABLE',
  ENOTFOUND: 'PLINTH_DATABASE_UNREACHABLE',
  EAI_AGAIN: 'PLINTH_DATABASE_UNREACHABLE',
  ETIMEDOUT: 'PLINTH_DATABASE_UNREACHABLE',
  EHOSTUNREACH: 'PLINTH_DATABASE_UNREACHABLE',
  ENETUNREACH: 'PLINTH_DATABASE_UNREACHABLE',
  ECONNRESET: 'PLINTH_DATABASE_UNREACHABLE',
  PROTOCOL_CONNECTION_LOST: 'PLINTH_DATABASE_UNREACHABLE',
  '57P03': 'PLINTH_DATABASE_UNREACHABLE',
  '28000': 'PLINTH_DATABASE_ACCESS_DENIED',
  '28P01': 'PLINTH_DATABASE_ACCESS_DENIED',
  ER_ACCESS_DENIED_ERROR: 'PLINTH_DATABASE_ACCESS_DENIED',
  ER_DBACCESS_DENIED_ERROR: 'PLINTH_DATABASE_ACCESS_DENIED',
  ER_ACCESS_DENIED_NO_PASSWORD_ERROR: 'PLINTH_DATABASE_ACCESS_DENIED',
  '3D000': 'PLINTH_DATABASE_UNKNOWN',
  ER_BAD_DB_ERROR: 'PLINTH_DATABASE_UNKNOWN',
}

/** One clear error for a connection that could not be had. The driver's own error stays as the cause; it holds no password. */
export function connectionFailure(settings: ConnectionSettings, error: unknown): PlinthError {
  const details = {
    type: settings.type,
    place: placeOf(settings),
    user: settings.type === 'sqlite' ? '' : settings.username,
    reason: reasonOf(error),
  }
  const code = String(codeOf(error))
  const fallback = settings.type === 'sqlite' ? 'PLINTH_DATABASE_FILE' : 'PLINTH_DATABASE_FAILED'
  const timedOut = /timeout|timed out/i.test(details.reason)
  return databaseError(known[code] ?? (timedOut ? 'PLINTH_DATABASE_UNREACHABLE' : fallback), details, error)
}

/** What the drivers say when a connection ends under what was asked: SQLSTATE or system code. */
const ended: ReadonlySet<unknown> = new Set([
  ...['57P01', '57P02', '57P03', '08000', '08003', '08006'],
  ...['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'PROTOCOL_CONNECTION_LOST', 'ER_SERVER_SHUTDOWN', 'ER_CONNECTION_KILLED'],
])
/** The drivers give these no code. */
const endedText =
  /^(?:Connection terminated|Client has encountered a connection error|Can't add new command when connection is in closed state)/

/** What databases say when their disk is full. */
const full: ReadonlySet<unknown> = new Set(['SQLITE_FULL', '53100', 'ER_DISK_FULL', 'ER_RECORD_FILE_FULL'])

/**
 * `PLINTH_DATABASE_CONNECTION_LOST` or `PLINTH_DATABASE_NO_WRITES` for the error of a statement that says so; nothing for any other.
 */
export function outageOf(settings: ConnectionSettings, error: unknown): PlinthError | undefined {
  const [code, reason] = [codeOf(error), reasonOf(error)]
  const details = { type: settings.type, place: placeOf(settings), reason }
  if (full.has(code)) return databaseError('PLINTH_DATABASE_NO_WRITES', details, error)
  const isLost = settings.type !== 'sqlite' && (ended.has(code) || endedText.test(reason))
  return isLost ? databaseError('PLINTH_DATABASE_CONNECTION_LOST', details, error) : undefined
}
