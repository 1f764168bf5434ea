import type { Database, TablePermission } from '@plinth/database'
import { type Clock, errorCodeOf } from '@plinth/kernel'

export interface RuntimeInfo {
  /** Version of Node.js without the `v`. */
  readonly nodeVersion: string
  /** Character set of the process locale: `UTF-8`, another name, or empty if no locale is set. */
  readonly charset: string
  /** Languages that Node.js can format: all, some without Chinese, or none. */
  readonly icu: 'full' | 'partial' | 'none'
  /** Maximum heap size in bytes. */
  readonly heapLimit: number
  readonly timeZone: string
  /** Value of `TZ` if it is not a known time zone. */
  readonly unknownTimeZone: string | undefined
}

export type DirectoryRole = 'run' | 'storage' | 'public' | 'log'
/** Directories to check. A role without a directory is not checked. */
type Directories = Readonly<Partial<Record<DirectoryRole, string>>>

/** Functions of the storage service that the checks use. */
export interface StorageCheckFunctions {
  readonly publicDisk: string
  readonly localDisk: string
  disks(): readonly { readonly name: string; readonly enabled: boolean }[]
  probe(disk: string, signal: AbortSignal): Promise<void>
}

/** Functions that examine the environment. Tests replace them. */
export interface Probes {
  runtime(): RuntimeInfo
  /**
   * Checks whether files can be created in a directory. If `mayWrite` is true, creates and removes a file.
   *
   * @returns `creatable` if the directory does not exist but can be created
   */
  directory(path: string, mayWrite: boolean): Promise<'writable' | 'creatable'>
  /** Returns the free bytes at the path. */
  freeSpace(path: string): Promise<number>
  /** Checks the `.env` file with the rules of the code that writes it. */
  envFile(path: string): Promise<{ readonly exists: boolean; readonly isReadableByOthers: boolean }>
  /** Returns the names in the example file, or `undefined` if it is missing. */
  exampleKeys(path: string): Promise<readonly string[] | undefined>
  /** Returns the time of the database in milliseconds since the epoch. */
  databaseTime(database: Database): Promise<number>
  /** Creates, alters, fills and drops a table. Returns the missing right, if any. */
  privileges(database: Database): Promise<TablePermission | 'read-only' | undefined>
}

export interface PreflightContext {
  readonly clock: Clock
  /** If false, the checks create no files and tables. Used for diagnostics, which must change nothing. */
  readonly mayWrite: boolean
  /** Supported versions of Node.js, from `engines.node`. */
  readonly nodeRange: string
  readonly directories: Directories
  readonly envFile: {
    readonly path: string
    /** File that lists the variables that may be written. */
    readonly examplePath: string
    /** Variables that the file must list, so that passwords can be written. */
    readonly needed: readonly string[]
  }
  readonly database: Database | undefined
  /** Error code if the configured database is not in use. It is then not checked. */
  readonly databaseFailure?: string
  readonly cache: {
    readonly isEnabled: boolean
    /** Returns the time of Redis in milliseconds since the epoch. Absent without a connection. */
    readonly serverTime?: (signal: AbortSignal) => Promise<number>
  }
  readonly storage: StorageCheckFunctions | undefined
  readonly policy: {
    readonly isProduction: boolean
    readonly requireHttps: boolean
    /** True if the current request used HTTPS. */
    readonly isHttps: boolean
    readonly allowLite: boolean
  }
  readonly listener: { readonly host: string; readonly port: number }
  /** Replacements for real probes, for tests. */
  readonly probes?: Partial<Probes>
  readonly signal?: AbortSignal
}

export interface CheckContext extends PreflightContext {
  readonly probes: Probes
  /** Runs a probe. Cancels it after 10 s, or when the caller cancels. */
  within<T>(work: (signal: AbortSignal) => T | Promise<T>): Promise<T>
}

/**
 * Returns a short code for a file system error, for example `EACCES`. The message is not used, because it contains the
 * path.
 */
export function fileErrorCode(error: unknown): string {
  const code = errorCodeOf(error)
  return typeof code === 'string' ? code : 'failed'
}

/** Returns a time of a clock for people, for example `2026-11-27 18:22:18 UTC`. */
export const utcText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
