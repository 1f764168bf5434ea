import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type ConnectionSettings, tableNamesOf, withDatabase } from '@plinth/database/stored-data'
import { errorCodeOf, errorReason, isPlinthError } from '@plinth/kernel'
import { makePrivateDirectory } from '@plinth/kernel/host'
import { compileChangeSets, type PluginChangeSets } from '@plinth/migrations'
import type { BackupContext } from './create.ts'
import { backupError } from './errors.ts'
import { type Contents, type Entry, type Manifest, parseContents } from './format.ts'
import { differenceOf, digestTables, engineOf, locationOf, scratchName, scratchOf } from './snapshots.ts'
import { collect, measure, openBackup, readIdentities, type Vault } from './vault.ts'

export interface RestoreOptions extends BackupContext {
  readonly id: string
  /** Text of an identity file of age. */
  readonly identity: string
  /** True to restore a backup that lacks change sets of this product. */
  readonly allowsOlderSchema: boolean
  readonly signal: AbortSignal
  readonly onProgress: (text: string) => void
}

export interface RestoreResult {
  readonly manifest: Manifest
  /** Settings and keys that were written, relative to the directory of the product file. */
  readonly written: readonly string[]
  /** Settings that differ from existing files and were written next to them, with the suffix `.restored`. */
  readonly besides: readonly string[]
}

/**
 * Reads all objects of a backup. With an identity, also decrypts them.
 *
 * @throws PlinthError `PLINTH_BACKUP_UNKNOWN`, `PLINTH_BACKUP_DAMAGED`, `PLINTH_BACKUP_KEY`
 */
export async function verifyBackup({
  place,
  id,
  identity,
  signal,
}: Pick<RestoreOptions, 'place' | 'id' | 'signal'> & { readonly identity?: string }): Promise<Manifest> {
  const { vault, manifest } = await openBackup(place, id)
  const identities = identity === undefined ? undefined : await readIdentities(identity, manifest.recipient)
  for (const object of manifest.objects) {
    signal.throwIfAborted()
    await vault.check(object)
  }
  if (identities === undefined) return manifest
  const { entries } = await readContents(vault, manifest, identities)
  for (const entry of entries) {
    signal.throwIfAborted()
    await measure(vault.unseal(entry, identities))
  }
  return manifest
}

async function readContents(vault: Vault, manifest: Manifest, identities: readonly string[]): Promise<Contents> {
  const contents = parseContents((await collect(vault.decrypt('contents.age', identities))).toString())
  if (contents === undefined || contents.id !== manifest.id) throw vault.damaged('its list of files is malformed')
  const stored = new Set(manifest.objects.map(({ name }) => name))
  const missing = contents.entries.find(({ object }) => !stored.has(object))
  if (missing !== undefined) throw vault.damaged(`its manifest does not list ${missing.object}`)
  const unsafe = contents.entries.find(({ path }) => !isRelativePath(path))
  if (unsafe !== undefined) throw vault.damaged('it contains a path that leads outside of its directory')
  return contents
}

/** True for a path that stays in its directory. The list of contents may be forged, because everybody can encrypt for a recipient. */
const isRelativePath = (path: string) =>
  path.split('/').every((segment) => !['', '.', '..'].includes(segment)) &&
  (process.platform !== 'win32' || !/[\\:]/.test(path))

/**
 * Restores a backup into an empty database, the disks and the directory of the product. Everything is decrypted and
 * compared before the first file is written. The files are written first and the database last, in one step. If a
 * restore is killed, it can be repeated: files with equal content are skipped.
 *
 * @throws PlinthError `PLINTH_BACKUP_*`, errors of the disks
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { place, id, database, workDirectory, signal, onProgress } = options
  const { vault, manifest } = await openBackup(place, id)
  const identities = await readIdentities(options.identity, manifest.recipient)
  if (manifest.dialect !== database.type) {
    const { dialect } = manifest
    throw backupError('PLINTH_BACKUP_DIALECT', { dialect, configured: database.type })
  }
  await assertEmpty(database)
  for (const object of manifest.objects) {
    signal.throwIfAborted()
    await vault.check(object)
  }
  const contents = await readContents(vault, manifest, identities)
  assertSchema(contents, options)
  const work = join(workDirectory, `restore-${id}`)
  await rm(work, { recursive: true, force: true })
  await makePrivateDirectory(work)
  try {
    onProgress('Decrypting and checking all files')
    const plan = await planFiles(options, contents, vault, identities)
    const dump = join(work, 'dump')
    for (const entry of contents.entries) {
      signal.throwIfAborted()
      if (entry.kind === 'database') await writeFile(join(dump, entry.path), vault.unseal(entry, identities))
      else await measure(vault.unseal(entry, identities))
    }
    return await withScratch(options, dump, contents, async (adopt) => {
      onProgress('Writing files')
      for (const entry of plan.disks) {
        signal.throwIfAborted()
        await diskOf(options, entry).write(entry.path, vault.unseal(entry, identities))
      }
      for (const [file, entry] of plan.state) await replaceFile(file, vault.unseal(entry, identities))
      await adopt()
      return { manifest, written: plan.written, besides: plan.besides }
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** True for a database without tables, and for a SQLite file that does not exist. Never creates the file. */
export const isEmptyDatabase = async (database: ConnectionSettings): Promise<boolean> =>
  database.type === 'sqlite' ? !(await exists(database.file)) : (await withDatabase(database, tableNamesOf)).size === 0

/** @throws PlinthError `PLINTH_BACKUP_TARGET` */
async function assertEmpty(database: ConnectionSettings): Promise<void> {
  if (await isEmptyDatabase(database)) return
  const place = locationOf(database)
  const reason =
    database.type === 'sqlite' ? `the database file ${place} exists` : `the database ${place} contains tables`
  throw backupError('PLINTH_BACKUP_TARGET', { reason })
}

/** @throws PlinthError `PLINTH_BACKUP_SCHEMA_NEWER`, `PLINTH_BACKUP_SCHEMA_OLDER` */
function assertSchema(
  { changeSets: stored }: Contents,
  { changeSets, database, allowsOlderSchema }: RestoreOptions,
): void {
  const nameOf = ({ plugin, id }: { readonly plugin: string; readonly id: string }) => `${plugin}/${id}`
  const known = new Set(compileChangeSets(changeSets, database.type).map(nameOf))
  const applied = new Set(stored.map(nameOf))
  const newer = [...applied].filter((name) => !known.has(name))
  if (newer.length > 0) throw backupError('PLINTH_BACKUP_SCHEMA_NEWER', { changeSets: firstOf(newer) })
  const missing = [...known].filter((name) => !applied.has(name))
  if (missing.length > 0 && !allowsOlderSchema) {
    throw backupError('PLINTH_BACKUP_SCHEMA_OLDER', { changeSets: firstOf(missing) })
  }
}

const firstOf = (names: readonly string[]) =>
  [...names.slice(0, 5), ...(names.length > 5 ? [`and ${names.length - 5} more`] : [])].join(', ')

/** Returns the change sets that the backup contains. */
const appliedOf = (changeSets: readonly PluginChangeSets[], { changeSets: applied }: Contents) =>
  changeSets.map((one) => ({
    ...one,
    changeSets: one.changeSets.filter(({ id }) =>
      applied.some((other) => other.plugin === one.plugin && other.id === id),
    ),
  }))

/** Creates the database under a temporary name, compares all rows, and passes a function that gives it its name. */
async function withScratch<T>(
  options: RestoreOptions,
  dump: string,
  contents: Contents,
  work: (adopt: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { database, onProgress } = options
  const engine = engineOf(database)
  const scratch =
    database.type === 'sqlite'
      ? { ...database, file: `${database.file}.restoring` }
      : scratchOf(database, '', scratchName(database, contents.id))
  if (database.type === 'sqlite') await makePrivateDirectory(dirname(database.file))
  let isAdopted = false
  try {
    onProgress('Restoring the database')
    await engine.drop(database, scratch)
    await engine.create(database, scratch, dump, options)
    const found = await withDatabase(scratch, (one) =>
      digestTables(one, { ...options, changeSets: appliedOf(options.changeSets, contents) }),
    )
    const difference = differenceOf(contents.tables, found)
    if (difference !== undefined) throw backupError('PLINTH_BACKUP_DAMAGED', { id: contents.id, reason: difference })
    return await work(async () => {
      await assertEmpty(database)
      await engine.adopt(scratch, database, dump, options)
      isAdopted = true
    })
  } catch (error) {
    options.signal.throwIfAborted()
    if (isPlinthError(error)) throw error
    throw backupError('PLINTH_BACKUP_TARGET', { reason: errorReason(error) }, error)
  } finally {
    if (!isAdopted) await engine.drop(database, scratch).catch(() => undefined)
  }
}

function diskOf({ disks }: RestoreOptions, { disk }: Entry) {
  const found = disks.get(disk)
  if (found !== undefined) return found
  throw backupError('PLINTH_BACKUP_TARGET', {
    reason: `the storage disk "${disk}" is not loaded or not listed in platform.backup.disks`,
  })
}

/**
 * Decides which files are written. Existing files with equal content are skipped. Existing files of disks and existing
 * keys with another content are never replaced.
 *
 * @throws PlinthError `PLINTH_BACKUP_TARGET`
 */
async function planFiles(options: RestoreOptions, { entries }: Contents, vault: Vault, identities: readonly string[]) {
  const disks: Entry[] = []
  const state: (readonly [file: string, entry: Entry])[] = []
  const [written, besides]: [string[], string[]] = [[], []]
  for (const entry of entries) {
    if (entry.kind === 'disk') {
      const existing = await diskOf(options, entry).open(entry.path)
      if (existing === undefined) disks.push(entry)
      else if ((await measure(existing.content)).sha256 !== entry.sha256) {
        const reason = `the disk "${entry.disk}" contains other files, for example ${entry.path}`
        throw backupError('PLINTH_BACKUP_TARGET', { reason })
      }
    } else if (entry.kind === 'state') {
      const file = join(options.root, entry.path)
      const existing = await readFile(file).catch((error: unknown) => {
        if (errorCodeOf(error) === 'ENOENT') return undefined
        throw error
      })
      const isKey = !entry.path.endsWith('.env')
      if (existing === undefined) {
        state.push([file, entry])
        written.push(entry.path)
      } else if (!existing.equals(await collect(vault.unseal(entry, identities)))) {
        // The settings of the target exist if it uses a database server.
        if (isKey)
          throw backupError('PLINTH_BACKUP_TARGET', { reason: `the file ${entry.path} exists with another content` })
        state.push([`${file}.restored`, entry])
        besides.push(`${entry.path}.restored`)
      }
    }
  }
  return { disks, state, written, besides }
}

async function writeFile(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await pipeline(content, createWriteStream(file, { mode: 0o600, flush: true }))
}

async function replaceFile(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = `${file}.restoring`
  await rm(temporary, { force: true })
  await writeFile(temporary, content)
  await rename(temporary, file)
}

const exists = (file: string) =>
  stat(file).then(
    () => true,
    (error: unknown) => {
      if (errorCodeOf(error) === 'ENOENT') return false
      throw error
    },
  )
