/**
 * Format of a backup: a directory of encrypted objects, named by the UTC time at which the backup began.
 *
 * - `00000001.age`, `00000002.age`, ...: one file each, in the age format
 * - `contents.age`: encrypted list of the files (`Contents`)
 * - `manifest.json`: written last. Its presence means that the backup is complete and proven
 * - `run.json`: only while the backup is made
 */

import Type, { type Static, type TSchema } from 'typebox'
import { Value } from 'typebox/value'

const text = Type.String()
const count = Type.Integer({ minimum: 0 })
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const objectName = Type.String({ pattern: '^([0-9]{8}|contents)\\.age$' })

/** An encrypted file. Size and hash are those of the encrypted bytes. */
const storedObject = Type.Object({ name: objectName, bytes: count, sha256 })
export type StoredObject = Static<typeof storedObject>

const manifest = Type.Object({
  format: Type.Literal(1),
  id: text,
  /** Name of the product. Several products may use one directory. */
  product: text,
  productVersion: text,
  /** Times are ISO 8601 in UTC. */
  createdAt: text,
  provenAt: text,
  /** Public key. The backup can be decrypted with its secret key only. */
  recipient: text,
  dialect: Type.Union([Type.Literal('sqlite'), Type.Literal('postgresql'), Type.Literal('mariadb')]),
  databaseVersion: text,
  /** Versions of the plugins by id. */
  plugins: Type.Record(text, text),
  tables: count,
  rows: count,
  files: count,
  /** Size of all encrypted objects. */
  bytes: count,
  objects: Type.Array(storedObject),
  /** Checks of the product that failed before the backup and also fail on its restored copy. */
  earlierFailures: Type.Array(text),
  /** Seconds from the beginning to the proof. */
  seconds: Type.Number(),
})
export type Manifest = Static<typeof manifest>

/** A file in the backup. Size and hash are those of the plain bytes. */
const entry = Type.Object({
  kind: Type.Union([Type.Literal('database'), Type.Literal('disk'), Type.Literal('state')]),
  /** Name of the storage disk; empty for other kinds. */
  disk: text,
  /** Path on the disk, in the dump, or relative to the directory of the product file. */
  path: text,
  bytes: count,
  sha256,
  object: objectName,
})
export type Entry = Static<typeof entry>

const contents = Type.Object({
  format: Type.Literal(1),
  id: text,
  entries: Type.Array(entry),
  tables: Type.Array(Type.Object({ table: text, rows: count, sum: sha256 })),
  changeSets: Type.Array(Type.Object({ plugin: text, id: text })),
})
export type Contents = Static<typeof contents>

const reader =
  <S extends TSchema>(schema: S) =>
  (json: string): Static<S> | undefined => {
    try {
      const value: unknown = JSON.parse(json)
      return Value.Check(schema, value) ? (value as Static<S>) : undefined
    } catch {
      return undefined
    }
  }

/** Returns undefined if the text is malformed. */
export const parseManifest = reader(manifest)
/** Returns undefined if the text is malformed. */
export const parseContents = reader(contents)

const run = Type.Object({
  startedAt: count,
  host: text,
  space: text,
  pid: count,
  /** Name of the scratch database on a server; empty for SQLite. */
  scratch: text,
})
/** A run that has not ended. It lists what must be removed if its process dies. */
export type Run = Static<typeof run>
export const parseRun = reader(run)

/** Returns the id of a backup that begins at a time. */
export const backupId = (now: number): string => new Date(now).toISOString().replace(/[:.]/g, '-')
export const isBackupId = (id: string): boolean => /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/.test(id)
