import { createReadStream } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { type ConnectionSettings, type StoredDatabase, withDatabase } from '@plinth/database/stored-data'
import {
  type Clock,
  type CommandFinding,
  errorCodeOf,
  errorReason,
  isBusinessError,
  isPlinthError,
} from '@plinth/kernel'
import { causeCodeOf, makePrivateDirectory, mayProcessBeAlive, processIdentity } from '@plinth/kernel/host'
import { Migrator } from '@plinth/migrations'
import type { Disk, KeptFiles } from '@plinth/storage'
import { Encrypter } from 'age-encryption'
import { backupError } from './errors.ts'
import {
  backupId,
  type Contents,
  type Entry,
  type Failure,
  isBackupId,
  type Manifest,
  type Run,
  startOf,
} from './format.ts'
import {
  differenceOf,
  digestTables,
  engineOf,
  isScratchName,
  locationOf,
  type SnapshotContext,
  scratchName,
  scratchOf,
} from './snapshots.ts'
import { steps } from './steps.ts'
import { listBackups, ofProduct, type Place, Vault } from './vault.ts'

export interface BackupContext extends Pick<SnapshotContext, 'changeSets' | 'toolsDirectory'> {
  readonly place: Place
  readonly database: ConnectionSettings
  readonly disks: ReadonlyMap<string, Disk>
  /** Absolute path of the directory of the product file. */
  readonly root: string
  /** Absolute path of a directory for unencrypted copies. */
  readonly workDirectory: string
  readonly clock: Clock
}

export interface CreateOptions extends BackupContext {
  readonly recipient: string
  /** Absolute paths of the settings file and the keys. Missing files are omitted. */
  readonly stateFiles: readonly string[]
  /** Variables of the process environment that configure the product. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly product: { readonly name: string; readonly version: string }
  readonly plugins: Readonly<Record<string, string>>
  /** Called when the database is found to be complete, before it is copied. */
  readonly record: (id: string) => Promise<void>
  readonly signal: AbortSignal
  readonly onProgress: (text: string) => void
  /** Masks secrets of the configuration in the stored reason of a failure. */
  readonly redact: (text: string) => string
  /** For tests: called before the scratch database is compared. */
  readonly afterLoad?: () => Promise<void>
  /** Runs the checks of `plinth doctor --data` with other configuration values. */
  readonly examine: (set: Readonly<Record<string, string>>) => Promise<readonly CommandFinding[]>
}

/** Name of the file that contains the variables of the process environment. */
export const environmentFile = 'environment.env'
/** Time limit of a run in milliseconds. */
const maxRunMs = 24 * 60 * 60 * 1000
/** Interval in milliseconds at which a run shows that it is alive, and keeps deleted files; see `Disk.keepDeleted`. */
const renewMs = 60_000
/** Time in milliseconds without a sign of life after which a run has ended. The clocks of two hosts may differ by some minutes. */
const maxSilenceMs = 15 * 60_000
/** Maximum number of records of failed backups, and maximum characters of a reason. */
const maxFailures = 10
const maxReason = 2_000

/**
 * Makes a backup, and proves it before it counts as complete:
 *
 * 1. removes what is left of runs whose processes died
 * 2. makes each disk keep deleted files, and takes the migration lock
 * 3. copies the database, and computes the hashes of all rows of the same snapshot
 * 4. encrypts and stores the copy, the files of the disks, the settings and the keys
 * 5. creates a scratch database from the copy, compares the hashes of all rows, and runs the checks of the product on it
 * 6. reads all stored bytes again and compares their hashes
 * 7. writes the manifest
 *
 * If a step fails, everything that the run has written is removed, and the reason is recorded instead.
 *
 * @throws PlinthError `PLINTH_BACKUP_*`, `PLINTH_MIGRATION_LOCKED`, errors of the disks
 */
export async function createBackup(options: CreateOptions): Promise<Manifest> {
  const { place, clock, signal } = options
  assertRecipient(options.recipient)
  const now = clock.now()
  const vault = new Vault(place, backupId(now))
  try {
    return await makeBackup(options, vault, now)
  } catch (error) {
    if (!signal.aborted && !isRunning(error)) {
      // If the place itself is the cause, the reason cannot be recorded there.
      await recordFailure(vault, error, options).catch(() => undefined)
    }
    throw error
  }
}

/** True if a backup was not begun, because another one is being made. */
export const isRunning = (error: unknown): boolean => isPlinthError(error) && error.code === 'PLINTH_BACKUP_RUNNING'

/** Records why a backup failed, and removes older records of the product. */
async function recordFailure(vault: Vault, error: unknown, { product, clock, redact }: CreateOptions): Promise<void> {
  const reason = redact(errorReason(error)).slice(0, maxReason)
  const failure: Failure = { product: product.name, failedAt: clock.now(), code: causeCodeOf(error), reason }
  await vault.writeText('failure.json', failure)
  const { failed } = ofProduct(await listBackups(vault.place), product.name)
  for (const [old] of failed.slice(maxFailures)) await old.remove()
}

async function makeBackup(options: CreateOptions, vault: Vault, now: number): Promise<Manifest> {
  const { place, database, signal, workDirectory, clock } = options
  const product = options.product.name
  await place.disk.verify(signal)
  await engineOf(database).check(database, options)
  await removeDeadRuns(options, product)
  const { host, space, pid } = processIdentity()
  const scratch = scratchName(database, vault.id)
  const startedAt = Math.floor(now)
  const showLife = () => {
    const run: Run = { product, startedAt, renewedAt: Math.floor(clock.now()), host, space, pid, scratch }
    return vault.writeText('run.json', run)
  }
  await showLife()
  const work = join(workDirectory, vault.id)
  const ends = AbortSignal.any([signal, AbortSignal.timeout(maxRunMs)])
  const run = new BackupRun({ ...options, signal: ends }, vault, work, scratch, showLife)
  try {
    // Another run may have begun at the same moment. Then each of them finds the other one here.
    await removeDeadRuns(options, product, vault.id)
    const manifest = await makePrivateDirectory(work)
      .then(() => run.run())
      .finally(() => rm(work, { recursive: true, force: true }))
    // If the process dies from here on, nothing unencrypted is left.
    await vault.finish(manifest)
    return manifest
  } catch (error) {
    await vault.remove().catch(() => undefined)
    signal.throwIfAborted()
    if (isPlinthError(error) || isBusinessError(error)) throw error
    throw backupError('PLINTH_BACKUP_FAILED', { reason: errorReason(error) }, error)
  }
}

/** @throws PlinthError `PLINTH_BACKUP_RECIPIENT` */
export function assertRecipient(recipient: string): void {
  if (recipient === '') throw backupError('PLINTH_BACKUP_RECIPIENT', { reason: 'platform.backup.recipient is empty' })
  try {
    if (!recipient.startsWith('age1')) throw new Error('it does not start with age1')
    new Encrypter().addRecipient(recipient)
  } catch (error) {
    const reason = `platform.backup.recipient is not a public key of age (${errorReason(error)})`
    throw backupError('PLINTH_BACKUP_RECIPIENT', { reason }, error)
  }
}

/**
 * False if the run has ended. A process on this host can be found, also while it is blocked. One on another host, or in a
 * container that exists no more, is known by its signs of life only.
 *
 * @param now milliseconds since the epoch
 */
export function isRunAlive(run: Run, now: number): boolean {
  const maxMs = run.space === processIdentity().space ? maxRunMs : maxSilenceMs
  return mayProcessBeAlive(run) && now - run.renewedAt < maxMs
}

/**
 * Removes what is left of runs of the product whose processes died. Also removes unencrypted copies from this host that are older than any
 * run can be: their record may have been removed on another host.
 *
 * @param product name of the product
 * @param except id of the run of the caller
 * @throws PlinthError `PLINTH_BACKUP_RUNNING`
 */
export async function removeDeadRuns(context: BackupContext, product: string, except = ''): Promise<readonly string[]> {
  const { place, database, clock, workDirectory } = context
  const removed: string[] = []
  for (const [vault, run] of ofProduct(await listBackups(place), product).unfinished) {
    // Without a record, another program may just be copying the backup to this place.
    if (run === undefined || vault.id === except) continue
    if (isRunAlive(run, clock.now())) {
      const { host, pid, startedAt } = run
      const file = vault.path('run.json')
      throw backupError('PLINTH_BACKUP_RUNNING', { host, pid, file, at: new Date(startedAt).toISOString() })
    }
    if (isScratchName(database, run.scratch)) {
      await engineOf(database).drop(database, scratchOf(database, '', run.scratch))
    }
    await rm(join(workDirectory, vault.id), { recursive: true, force: true })
    await vault.remove()
    removed.push(vault.id)
  }
  for (const name of await readdir(workDirectory).catch(() => [])) {
    const isOld = isBackupId(name) && clock.now() - startOf(name) > maxRunMs
    if (isOld) await rm(join(workDirectory, name), { recursive: true, force: true })
  }
  return removed
}

/** Files of one disk. */
interface KeptDisk {
  readonly name: string
  readonly disk: Disk
  readonly kept: KeptFiles | undefined
}

class BackupRun {
  readonly #options: CreateOptions
  readonly #vault: Vault
  readonly #work: string
  readonly #scratch: ConnectionSettings
  readonly #showLife: () => Promise<void>
  readonly #entries: Entry[] = []

  constructor(options: CreateOptions, vault: Vault, work: string, scratch: string, showLife: () => Promise<void>) {
    this.#options = options
    this.#vault = vault
    this.#work = work
    this.#scratch = scratchOf(options.database, work, scratch)
    this.#showLife = showLife
  }

  async run(): Promise<Manifest> {
    const { database, clock, recipient, signal } = this.#options
    const [createdAt, startedAt] = [clock.now(), clock.monotonic()]
    const disks: KeptDisk[] = []
    let renewed: Promise<unknown> = Promise.resolve()
    const renewal = setInterval(() => {
      renewed = Promise.allSettled([renewed, this.#showLife(), ...disks.map(({ kept }) => kept?.renew())])
    }, renewMs)
    try {
      for (const [name, disk] of this.#options.disks) disks.push({ name, disk, kept: await disk.keepDeleted?.() })
      const { tables, changeSets, version } = await withDatabase(database, (one) => this.#dump(one))
      for (const path of await filesBelow(join(this.#work, 'dump'))) {
        const source = createReadStream(join(this.#work, 'dump', path))
        await this.#seal({ kind: 'database', disk: '', path }, source)
      }
      for (const disk of disks) await this.#copyDisk(disk)
      await this.#copyState()
      const contents: Contents = { format: 1, id: this.#vault.id, entries: this.#entries, tables, changeSets }
      await this.#vault.sealAs('contents.age', recipient, one(JSON.stringify(contents)))
      const earlierFailures = await this.#prove(tables)
      this.#say(steps.readBack.text.en)
      const { objects } = this.#vault
      for (const object of objects) {
        signal.throwIfAborted()
        await this.#vault.check(object)
      }
      const manifest: Manifest = {
        format: 1,
        id: this.#vault.id,
        product: this.#options.product.name,
        productVersion: this.#options.product.version,
        createdAt: new Date(createdAt).toISOString(),
        provenAt: new Date(clock.now()).toISOString(),
        recipient,
        dialect: database.type as Manifest['dialect'],
        databaseVersion: version,
        plugins: { ...this.#options.plugins },
        tables: tables.length,
        rows: tables.reduce((total, { rows }) => total + rows, 0),
        files: this.#entries.filter(({ kind }) => kind === 'disk').length,
        bytes: objects.reduce((total, { bytes }) => total + bytes, 0),
        objects,
        earlierFailures: [...earlierFailures],
        seconds: Math.round((clock.monotonic() - startedAt) / 1000),
      }
      signal.throwIfAborted()
      return manifest
    } finally {
      clearInterval(renewal)
      // A late sign of life would make the backup look unfinished.
      await renewed
      for (const { kept } of disks) await kept?.end().catch(() => undefined)
    }
  }

  /** Copies the database while no other process can apply change sets. */
  async #dump({ db, dialect }: StoredDatabase) {
    const { database, changeSets: plugins, signal } = this.#options
    const migrator = new Migrator({ db, dialect, plugins })
    const { applied, pending, unknown, orphaned } = await migrator.status()
    const [wrong] = [...pending, ...unknown, ...orphaned]
    if (wrong !== undefined) {
      const reason = `its change sets differ from those of this product, for example ${wrong.plugin}/${wrong.id}; run \`plinth migrate --status\``
      throw backupError('PLINTH_BACKUP_DATABASE', { place: locationOf(database), reason })
    }
    await this.#options.record(this.#vault.id)
    const dump = join(this.#work, 'dump')
    await makePrivateDirectory(dump)
    this.#say(steps.dump.text.en)
    const tables = await migrator
      .withLock(signal, () => engineOf(database).dump(database, dump, this.#options))
      .catch((error: unknown) => {
        signal.throwIfAborted()
        throw isPlinthError(error)
          ? error
          : backupError('PLINTH_BACKUP_DATABASE', { place: locationOf(database), reason: errorReason(error) }, error)
      })
    const version = await engineOf(database).version(database)
    return { tables, changeSets: applied.map(({ plugin, id }) => ({ plugin, id })), version }
  }

  async #seal(header: Pick<Entry, 'kind' | 'disk' | 'path'>, content: AsyncIterable<Uint8Array>): Promise<void> {
    this.#options.signal.throwIfAborted()
    this.#entries.push(await this.#vault.seal(this.#options.recipient, header, content))
  }

  /** Copies the files that exist, and those that were deleted since the backup began. */
  async #copyDisk({ name, disk, kept }: KeptDisk): Promise<void> {
    this.#say(`${steps.files.text.en} of the disk ${name}`)
    const copied = new Set<string>()
    for (const source of kept === undefined ? [disk] : [disk, kept.disk]) {
      for await (const { path } of source.list('')) {
        if (copied.has(path) || this.#options.place.isOwn(name, path)) continue
        const file = await source.open(path)
        // The file was deleted since it was listed. If the disk keeps deleted files, the second list contains it.
        if (file === undefined) continue
        copied.add(path)
        await this.#seal({ kind: 'disk', disk: name, path }, file.content)
      }
    }
  }

  async #copyState(): Promise<void> {
    const { stateFiles, environment, root } = this.#options
    for (const file of new Set(stateFiles)) {
      const content = await readFile(file).catch((error: unknown) => {
        if (errorCodeOf(error) === 'ENOENT') return undefined
        throw error
      })
      if (content === undefined) continue
      await this.#seal({ kind: 'state', disk: '', path: statePath(root, file) }, one(withoutSecretKeys(content)))
    }
    const lines = Object.entries(environment).map(([name, value]) => `${name}=${JSON.stringify(value)}\n`)
    if (lines.length === 0) return
    const content = withoutSecretKeys(Buffer.from(lines.sort().join('')))
    await this.#seal({ kind: 'state', disk: '', path: environmentFile }, one(content))
  }

  /** Creates the scratch database and checks it. Returns the checks that also fail on the database itself. */
  async #prove(tables: Contents['tables']): Promise<readonly string[]> {
    const { database, examine, signal } = this.#options
    const engine = engineOf(database)
    this.#say(steps.scratch.text.en)
    try {
      await engine.create(database, this.#scratch, join(this.#work, 'dump'), this.#options)
      await this.#options.afterLoad?.()
      const found = await withDatabase(this.#scratch, (one) => digestTables(one, this.#options))
      const difference = differenceOf(tables, found)
      if (difference !== undefined) throw backupError('PLINTH_BACKUP_PROOF', { reason: difference })
      this.#say(steps.examine.text.en)
      const failed = failuresOf(await examine(configurationOf(this.#scratch)))
      if (failed.length === 0) return []
      const before = new Set(failuresOf(await examine({})).map(({ check }) => check))
      const problems = failed.filter(({ check }) => !before.has(check))
      const text = ({ check, detail }: CommandFinding) => `${check}: ${detail}`
      if (problems.length === 0) return failed.map(text)
      const checks = problems.map((problem) => `\n  ${text(problem)}`).join('')
      throw backupError('PLINTH_BACKUP_CHECKS', { count: problems.length, checks })
    } catch (error) {
      signal.throwIfAborted()
      if (isPlinthError(error)) throw error
      throw backupError('PLINTH_BACKUP_PROOF', { reason: errorReason(error) }, error)
    } finally {
      await engine.drop(database, this.#scratch)
    }
  }

  #say(text: string): void {
    this.#options.onProgress(text)
  }
}

const failuresOf = (findings: readonly CommandFinding[]) => findings.filter(({ outcome }) => outcome === 'failed')

/** Returns the configuration values with which a product uses the scratch database. */
const configurationOf = (scratch: ConnectionSettings): Readonly<Record<string, string>> =>
  scratch.type === 'sqlite'
    ? { 'platform.database.sqlite.file': scratch.file }
    : { 'platform.database.name': scratch.name }

/** Returns the path of a file relative to the root, with `/`. Files outside of the root get the path `outside/<name>`. */
function statePath(root: string, file: string): string {
  const path = relative(root, file).split(sep).join('/')
  return path.startsWith('../') || path.includes(':') || path.startsWith('/')
    ? `outside/${file.split(sep).at(-1)}`
    : path
}

/** Removes the lines with secret keys of age: the key of the backup must not be on the machine. */
const withoutSecretKeys = (content: Buffer): Buffer =>
  content.includes('AGE-SECRET-KEY-')
    ? Buffer.from(
        content
          .toString()
          .split('\n')
          .filter((line) => !line.includes('AGE-SECRET-KEY-'))
          .join('\n'),
      )
    : content

async function filesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}

async function* one(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content)
}
