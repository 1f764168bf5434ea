import type { Database, TableRight } from '@plinth/database'
import { type Clock, codeOf } from '@plinth/kernel'

export interface RuntimeFacts {
  /** Without the `v`. */
  readonly nodeVersion: string
  /** Charset of the process locale: `UTF-8`, another name, or empty if no locale is set. */
  readonly charset: string
  /** Languages that Node.js can format: all, some but not Chinese, or none. */
  readonly icu: 'full' | 'partial' | 'none'
  /** Bytes. */
  readonly heapLimit: number
  /** Time zone of the process. */
  readonly timeZone: string
  /** Value of `TZ`, if it is not a known time zone. */
  readonly unknownTimeZone: string | undefined
}

export type DirectoryRole = 'run' | 'storage' | 'public' | 'log'
/** A missing directory is not checked. */
export type Directories = Readonly<Partial<Record<DirectoryRole, string>>>

/** Functions of the storage service that the checks use. `Storage` of `@plinth/storage` implements them. */
export interface StorageFacts {
  readonly publicDisk: string
  readonly localDisk: string
  disks(): readonly { readonly name: string; readonly enabled: boolean }[]
  /** Writes, reads and deletes a small file. */
  probe(disk: string, signal: AbortSignal): Promise<void>
}

/** Functions that examine the environment. They are injected, so that every result can be tested. */
export interface Probes {
  runtime(): RuntimeFacts
  /**
   * Checks whether files can be created in a directory. With `mayWrite`, a file is created and removed.
   * @returns `creatable` if the directory does not exist and can be created
   */
  directory(path: string, mayWrite: boolean): Promise<'writable' | 'creatable'>
  /** Free bytes where the directory is or will be created. */
  freeSpace(path: string): Promise<number>
  /** Examines the `.env` file like its writer. */
  envFile(path: string): Promise<{ readonly exists: boolean; readonly isReadableByOthers: boolean }>
  /** Names in the example file, or `undefined` if it is missing. */
  exampleKeys(path: string): Promise<readonly string[] | undefined>
  /** Milliseconds since the epoch by the clock of the database. */
  databaseTime(database: Database): Promise<number>
  /** Creates, alters, writes and drops a table. Returns the missing right. */
  privileges(database: Database): Promise<TableRight | 'read-only' | undefined>
}

export interface PreflightContext {
  readonly clock: Clock
  /** If false, no file and no table is created. Used for diagnostics, which change nothing. */
  readonly mayWrite: boolean
  /** Range of `engines.node`. */
  readonly nodeRange: string
  readonly directories: Directories
  readonly envFile: {
    readonly path: string
    /** The file that lists the names that may be written. */
    readonly examplePath: string
    /** Names that it must list, so that passwords can be written to the file. */
    readonly needed: readonly string[]
  }
  readonly database: Database | undefined
  /** Why the configured database is not in use. It is not checked then. */
  readonly databaseFailure?: string
  readonly cache: {
    readonly isEnabled: boolean
    /** Milliseconds since the epoch by the clock of the Redis server. Absent without a connection. */
    readonly serverTime?: (signal: AbortSignal) => Promise<number>
  }
  readonly storage: StorageFacts | undefined
  readonly policy: {
    readonly isProduction: boolean
    readonly requireHttps: boolean
    /** Whether the current request used HTTPS. */
    readonly isHttps: boolean
    readonly allowLite: boolean
  }
  readonly listener: { readonly host: string; readonly port: number }
  /** Replaces some of the real probes. */
  readonly probes?: Partial<Probes>
  readonly signal?: AbortSignal
}

/** The context of the checks, with all probes. */
export interface CheckContext extends PreflightContext {
  readonly probes: Probes
  /** Runs a probe. It is cancelled after 10 s, or when the caller cancels. */
  within<T>(work: (signal: AbortSignal) => T | Promise<T>): Promise<T>
}

/**
 * Returns a short code for an error of the file system, for example `EACCES`. Never the message, which contains the
 * path.
 */
export function problemOf(error: unknown): string {
  const code = codeOf(error)
  return typeof code === 'string' ? code : 'failed'
}
