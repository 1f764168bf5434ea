/**
 * Format of a backup: a directory of encrypted objects, named by the UTC time at which the backup began.
 *
 * - `00000001.age`, `00000002.age`, ...: one file each, in the age format
 * - `contents.age`: encrypted list of the files (`Contents`)
 * - `manifest.json`: written last. Its presence means that the backup is complete and proven
 * - `run.json`: only while the backup is made or removed
 * - `failure.json`: why the backup failed. It is then the only file
 */

import { shape } from '@plinth/kernel'
import { findShapeProblems } from '@plinth/kernel/host'

const dialects = ['sqlite', 'postgresql', 'mariadb'] as const
const kinds = ['database', 'disk', 'state'] as const

const text = { type: 'string' } as const
const count = shape.integer(0)
const sha256 = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const
const objectName = { type: 'string', pattern: '^([0-9]{8}|contents)\\.age$' } as const
const format = shape.integer(1, 1)

/** An encrypted file. Size and hash are those of the encrypted bytes. */
export interface StoredObject {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

export interface Manifest {
  readonly format: number
  readonly id: string
  /** Name of the product. Several products may use one directory. */
  readonly product: string
  readonly productVersion: string
  /** Times are ISO 8601 in UTC. */
  readonly createdAt: string
  readonly provenAt: string
  /** Public key. The backup can be decrypted with its secret key only. */
  readonly recipient: string
  readonly dialect: (typeof dialects)[number]
  readonly databaseVersion: string
  /** Versions of the plugins by id. */
  readonly plugins: Readonly<Record<string, string>>
  readonly tables: number
  readonly rows: number
  readonly files: number
  /** Size of all encrypted objects. */
  readonly bytes: number
  readonly objects: readonly StoredObject[]
  /** Checks of the product that failed before the backup and also fail on its restored copy. */
  readonly earlierFailures: readonly string[]
  /** Seconds from the beginning to the proof. */
  readonly seconds: number
}

const manifest = shape.object<Manifest>({
  format,
  id: text,
  product: text,
  productVersion: text,
  createdAt: text,
  provenAt: text,
  recipient: text,
  dialect: shape.among(dialects),
  databaseVersion: text,
  plugins: shape.map(text),
  tables: count,
  rows: count,
  files: count,
  bytes: count,
  objects: shape.list(shape.object<StoredObject>({ name: objectName, bytes: count, sha256 })),
  earlierFailures: shape.list(text),
  seconds: { type: 'number' },
})

/** A file in the backup. Size and hash are those of the plain bytes. */
export interface Entry {
  readonly kind: (typeof kinds)[number]
  /** Name of the storage disk; empty for other kinds. */
  readonly disk: string
  /** Path on the disk, in the dump, or relative to the directory of the product file. */
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly object: string
}

interface TableDigest {
  readonly table: string
  readonly rows: number
  /** Sum modulo 2^256 of the SHA-256 of all rows, as 64 hexadecimal digits. */
  readonly sum: string
}

interface AppliedChangeSet {
  readonly plugin: string
  readonly id: string
}

export interface Contents {
  readonly format: number
  readonly id: string
  readonly entries: readonly Entry[]
  readonly tables: readonly TableDigest[]
  readonly changeSets: readonly AppliedChangeSet[]
}

const contents = shape.object<Contents>({
  format,
  id: text,
  entries: shape.list(
    shape.object<Entry>({ kind: shape.among(kinds), disk: text, path: text, bytes: count, sha256, object: objectName }),
  ),
  tables: shape.list(shape.object<TableDigest>({ table: text, rows: count, sum: sha256 })),
  changeSets: shape.list(shape.object<AppliedChangeSet>({ plugin: text, id: text })),
})

/** A run that has not ended. It lists what must be removed if its process dies. */
export interface Run {
  /** Name of the product. Empty if any product may remove what is left. */
  readonly product: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** Time of the last sign of life, in milliseconds since the epoch. */
  readonly renewedAt: number
  readonly host: string
  readonly space: string
  readonly pid: number
  /** Name of the scratch database on a server; empty for SQLite. */
  readonly scratch: string
}

const run = shape.object<Run>({
  product: text,
  startedAt: count,
  renewedAt: count,
  host: text,
  space: text,
  pid: count,
  scratch: text,
})

/** Why a backup failed. */
export interface Failure {
  /** Name of the product. */
  readonly product: string
  /** Milliseconds since the epoch. */
  readonly failedAt: number
  /** Code of the error, for example `PLINTH_BACKUP_TOOL`. */
  readonly code: string
  /** Message of the error. It may contain paths, so it is only for the owner of the machine. */
  readonly reason: string
}

const failure = shape.object<Failure>({ product: text, failedAt: count, code: text, reason: text })

/** Creates a function that returns undefined for a malformed text. */
const reader =
  <T>(valid: typeof run) =>
  (json: string): T | undefined => {
    try {
      const value: unknown = JSON.parse(json)
      return findShapeProblems(valid, value).length === 0 ? (value as T) : undefined
    } catch {
      return undefined
    }
  }

export const parseManifest = reader<Manifest>(manifest)
export const parseContents = reader<Contents>(contents)
export const parseRun = reader<Run>(run)
export const parseFailure = reader<Failure>(failure)

/** Returns the time at which a backup began, in milliseconds since the epoch. */
export const startOf = (id: string): number =>
  Date.parse(id.replace(/T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z$/, 'T$1:$2:$3.$4Z'))
/** Returns the id of a backup that begins at a time. */
export const backupId = (now: number): string => new Date(now).toISOString().replace(/[:.]/g, '-')
export const isBackupId = (id: string): boolean => /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/.test(id)
