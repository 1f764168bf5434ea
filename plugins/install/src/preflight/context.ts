import type { Database, TableRight } from '@plinth/database'
import { type Clock, codeOf } from '@plinth/kernel'

export interface RuntimeFacts {
  /** Without the `v`. */
  readonly nodeVersion: string
  /** Of the process locale: `UTF-8`, another name, or empty when no locale is set. */
  readonly charset: string
  /** Which languages Node knows to format: all, some without Chinese, none. */
  readonly icu: 'full' | 'partial' | 'none'
  /** Bytes. */
  readonly heapLimit: number
  /** Time zone of the process. */
  readonly timeZone: string
  /** What `TZ` asks for, when nobody knows it. */
  readonly unknownTimeZone: string | undefined
}

export type DirectoryRole = 'run' | 'storage' | 'public' | 'log'
/** Each may be absent: then it is not looked at. */
export type Directories = Readonly<Partial<Record<DirectoryRole, string>>>

/** What the storage service must answer; `Storage` of `@plinth/storage` does. */
export interface StorageFacts {
  readonly publicDisk: string
  readonly localDisk: string
  disks(): readonly { readonly name: string; readonly enabled: boolean }[]
  /** Writes, reads and deletes a small file. */
  probe(disk: string, signal: AbortSignal): Promise<void>
}

/** How to find out what is so. Injected, so that everything that may be found can be tested. */
export interface Probes {
  runtime(): RuntimeFacts
  /**
   * Whether files can be made in a directory. With `mayWrite` a file is made and removed.
   *
   * @returns `creatable` when the directory does not exist and can be made
   */
  directory(path: string, mayWrite: boolean): Promise<'writable' | 'creatable'>
  /** Bytes that are free where the directory is or will be. */
  freeSpace(path: string): Promise<number>
  /** Looks at the `.env` file as its writer will. */
  envFile(path: string): Promise<{ readonly exists: boolean; readonly isReadableByOthers: boolean }>
  /** Names in the example file, `undefined` when there is none. */
  exampleKeys(path: string): Promise<readonly string[] | undefined>
  /** Milliseconds since the epoch by the clock of the database. */
  databaseTime(database: Database): Promise<number>
  /** Creates a table, changes it, writes to it and drops it. Returns what the user may not do. */
  privileges(database: Database): Promise<TableRight | 'read-only' | undefined>
}

export interface PreflightContext {
  readonly clock: Clock
  /** False only looks: no file is made, no table. For diagnostics, which change nothing. */
  readonly mayWrite: boolean
  /** Range of `engines.node`. */
  readonly nodeRange: string
  readonly directories: Directories
  readonly envFile: {
    readonly path: string
    /** The file whose names may be written. */
    readonly examplePath: string
    /** Names that it must list, so that passwords can go into the file. */
    readonly needed: readonly string[]
  }
  readonly database: Database | undefined
  /** Why the configured database is not in use; it is not looked at then. */
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
    /** Whether the request that asks came over HTTPS. */
    readonly isHttps: boolean
    readonly allowLite: boolean
  }
  readonly listener: { readonly host: string; readonly port: number }
  /** The real ones when absent. */
  readonly probes?: Partial<Probes>
  readonly signal?: AbortSignal
}

/** What the checks see: every probe is there. */
export interface CheckContext extends PreflightContext {
  readonly probes: Probes
  /** Runs a probe; it is given up after 10 s, or when the caller does. */
  within<T>(work: (signal: AbortSignal) => T | Promise<T>): Promise<T>
}

/** Short word for what went wrong with a file: `EACCES`. Never the message, which holds the path. */
export function faultOf(error: unknown): string {
  const code = codeOf(error)
  return typeof code === 'string' ? code : 'failed'
}
