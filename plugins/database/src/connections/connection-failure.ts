import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCodeOf, errorReason, hostAndPort, type PlinthError } from '@plinth/kernel'
import { databaseError } from '../errors.ts'

/**
 * Returns true for a missing SQLite file that can be created.
 *
 * @throws PlinthError `PLINTH_DATABASE_FILE` if it cannot be created
 */
export async function isMissingFile(settings: ConnectionSettings): Promise<boolean> {
  if (settings.type !== 'sqlite' || settings.file === ':memory:') return false
  try {
    if (await exists(settings.file)) return false
    await assertCreatable(dirname(settings.file))
    return true
  } catch (error) {
    throw connectionErrorOf(settings, error)
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return false
    throw error
  }
}

/** Throws if no file can be created in the directory. The directory and its parents may be missing. */
async function assertCreatable(directory: string): Promise<void> {
  const parent = dirname(directory)
  if (!(await exists(directory)) && parent !== directory) return assertCreatable(parent)
  // The trailing slash makes the system reject a path that is not a directory.
  await access(`${directory}/`, constants.W_OK | constants.X_OK)
}

/** Maximum times in milliseconds. */
interface WaitLimits {
  /** Time to connect to a server, or to wait until a connection is free. */
  readonly connectTimeoutMs: number
  /** Time for one statement on a server. */
  readonly queryTimeoutMs: number
  /** Time for a whole transaction. */
  readonly transactionTimeoutMs: number
}

export interface SqliteSettings extends WaitLimits {
  readonly type: 'sqlite'
  /** Absolute path of the file, or `:memory:`. */
  readonly file: string
  readonly busyTimeoutMs: number
  readonly synchronous: 'full' | 'normal'
}

export type TransportSecurity = 'off' | 'encrypt' | 'verify'

export interface ServerSettings extends WaitLimits {
  readonly type: 'postgresql' | 'mysql' | 'mariadb'
  readonly host: string
  readonly port: number
  readonly name: string
  readonly username: string
  readonly password: string
  readonly tls: TransportSecurity
  readonly poolSize: number
  readonly preparedStatements: boolean
}

export type ConnectionSettings = SqliteSettings | ServerSettings

/** The connection settings that a user can enter. */
export type ProbeTarget =
  | Pick<SqliteSettings, 'type' | 'file'>
  | (Pick<ServerSettings, 'type' | 'host' | 'port' | 'name' | 'username' | 'password'> &
      Partial<Pick<ServerSettings, 'tls'>>)

/** Returns the location of the database as text for users, without credentials. */
export function databaseLocationText(settings: ConnectionSettings): string {
  return settings.type === 'sqlite' ? settings.file : `${hostAndPort(settings.host, settings.port)}/${settings.name}`
}

/** Number of additional connections outside the pool, for leases and health checks. */
export const reservedConnections = 2

type Failure =
  | 'PLINTH_DATABASE_UNREACHABLE'
  | 'PLINTH_DATABASE_ACCESS_DENIED'
  | 'PLINTH_DATABASE_UNKNOWN'
  | 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS'

/** Driver errors when connecting, by SQLSTATE, error name or system code. */
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
  '08P01': 'PLINTH_DATABASE_UNREACHABLE',
  '53300': 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
  '53400': 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
  ER_CON_COUNT_ERROR: 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
  ER_TOO_MANY_USER_CONNECTIONS: 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
  ER_USER_LIMIT_REACHED: 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
  '28000': 'PLINTH_DATABASE_ACCESS_DENIED',
  '28P01': 'PLINTH_DATABASE_ACCESS_DENIED',
  ER_ACCESS_DENIED_ERROR: 'PLINTH_DATABASE_ACCESS_DENIED',
  ER_DBACCESS_DENIED_ERROR: 'PLINTH_DATABASE_ACCESS_DENIED',
  ER_ACCESS_DENIED_NO_PASSWORD_ERROR: 'PLINTH_DATABASE_ACCESS_DENIED',
  '3D000': 'PLINTH_DATABASE_UNKNOWN',
  ER_BAD_DB_ERROR: 'PLINTH_DATABASE_UNKNOWN',
}

/** Driver errors without a code, if the server does not respond or is not a database server. */
const noServer = /timeout|timed out|^received (?:invalid response|unexpected)/i

/**
 * Returns the error for a connection that could not be opened. Its cause is the driver error, which contains no
 * password.
 */
export function connectionErrorOf(settings: ConnectionSettings, error: unknown): PlinthError {
  const details = {
    type: settings.type,
    place: databaseLocationText(settings),
    user: settings.type === 'sqlite' ? '' : settings.username,
    connections: settings.type === 'sqlite' ? 1 : settings.poolSize + reservedConnections,
    reason: errorReason(error),
  }
  const code = String(errorCodeOf(error))
  const fallback = settings.type === 'sqlite' ? 'PLINTH_DATABASE_FILE' : 'PLINTH_DATABASE_FAILED'
  const hasNoServer = noServer.test(details.reason)
  return databaseError(known[code] ?? (hasNoServer ? 'PLINTH_DATABASE_UNREACHABLE' : fallback), details, error)
}

/** Returns the error for a prepared statement that the server rejected without executing it. */
export const statementNotPreparedError = (settings: ConnectionSettings, error: unknown): PlinthError =>
  databaseError(
    'PLINTH_DATABASE_NOT_PREPARED',
    { type: settings.type, place: databaseLocationText(settings), reason: errorReason(error) },
    error,
  )

/** Driver errors when a connection ends during a statement. */
const ended: ReadonlySet<unknown> = new Set([
  '57P01',
  '57P02',
  '57P03',
  '08000',
  '08003',
  '08006',
  '08P01',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'PROTOCOL_CONNECTION_LOST',
  'ER_SERVER_SHUTDOWN',
  'ER_CONNECTION_KILLED',
])
/** Texts of driver errors when a connection ends during a statement, from drivers that set no error code. */
const endedText =
  /^(?:Connection terminated|Client has encountered a connection error|Can't add new command when connection is in closed state)/

type Outage =
  | 'PLINTH_DATABASE_NO_WRITES'
  | 'PLINTH_DATABASE_READ_ONLY'
  | 'PLINTH_DATABASE_DISK'
  | 'PLINTH_DATABASE_TOO_MANY_CONNECTIONS'

/** Driver errors while the database cannot work normally, by SQLSTATE, error name or SQLite code. */
const outages: readonly (readonly [Outage, RegExp])[] = [
  ['PLINTH_DATABASE_NO_WRITES', /^(?:SQLITE_FULL|53100|ER_DISK_FULL|ER_RECORD_FILE_FULL)$/],
  [
    'PLINTH_DATABASE_READ_ONLY',
    /^(?:SQLITE_READONLY(?:_\w+)?|25006|ER_OPTION_PREVENTS_STATEMENT|ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION|ER_READ_ONLY_MODE)$/,
  ],
  ['PLINTH_DATABASE_DISK', /^(?:SQLITE_IOERR(?:_\w+)?|SQLITE_CANTOPEN(?:_\w+)?|58030)$/],
  [
    'PLINTH_DATABASE_TOO_MANY_CONNECTIONS',
    /^(?:53300|53400|ER_CON_COUNT_ERROR|ER_TOO_MANY_USER_CONNECTIONS|ER_USER_LIMIT_REACHED)$/,
  ],
]

/**
 * Returns true if the error means that the database rejects all writes. The next successful write proves that this
 * state has ended.
 */
export const isWriteOutage = ({ code }: PlinthError): boolean =>
  code === 'PLINTH_DATABASE_NO_WRITES' || code === 'PLINTH_DATABASE_READ_ONLY' || code === 'PLINTH_DATABASE_DISK'

/**
 * Returns true if the connection must be replaced. After a failover, a read-only connection still leads to the former
 * primary server.
 */
export const mustReconnect = ({ code }: PlinthError): boolean => code === 'PLINTH_DATABASE_READ_ONLY'

/** Returns the error for an unavailable database; `undefined` if the statement failed for another reason. */
export function unavailableErrorOf(settings: ConnectionSettings, error: unknown): PlinthError | undefined {
  const [code, reason] = [errorCodeOf(error), errorReason(error)]
  const connections = settings.type === 'sqlite' ? 1 : settings.poolSize + reservedConnections
  const details = { type: settings.type, place: databaseLocationText(settings), reason, connections }
  const [outage] = outages.find(([, codes]) => code !== undefined && codes.test(code)) ?? []
  if (outage !== undefined) return databaseError(outage, details, error)
  const isLost = settings.type !== 'sqlite' && (ended.has(code) || endedText.test(reason))
  return isLost ? databaseError('PLINTH_DATABASE_CONNECTION_LOST', details, error) : undefined
}
