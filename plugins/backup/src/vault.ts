import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { type Clock, errorReason, isPlinthError, withinDeadline } from '@plinth/kernel'
import type { Disk } from '@plinth/storage'
import { Decrypter, Encrypter, identityToRecipient } from 'age-encryption'
import { backupError } from './errors.ts'
import {
  type Entry,
  type Failure,
  isBackupId,
  type Manifest,
  parseFailure,
  parseManifest,
  parseRun,
  type Run,
  type StoredObject,
} from './format.ts'

/** The place of all backups: a directory, or a directory of a storage disk. */
export interface Place {
  readonly disk: Pick<Disk, 'write' | 'open' | 'list' | 'delete' | 'verify'>
  /** Directory on the disk: empty, or a path that ends with `/`. */
  readonly prefix: string
  /** For people. */
  readonly name: string
  /** True for a file of a backup. If backups are stored on a disk that is backed up, they do not contain each other. */
  isOwn(disk: string, path: string): boolean
}

/** Maximum bytes of a manifest or a list of contents. */
const maxListBytes = 512 * 1024 * 1024

/** Size and hash of bytes that were read. */
interface Measured {
  bytes: number
  sha256: string
}

/** Yields the same bytes. Sets the measures at the end. */
async function* measured(source: AsyncIterable<Uint8Array>, result: Measured): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  for await (const chunk of source) {
    hash.update(chunk)
    result.bytes += chunk.length
    yield chunk
  }
  result.sha256 = hash.digest('hex')
}

/** Reads the source to its end. */
export async function measure(source: AsyncIterable<Uint8Array>): Promise<Measured> {
  const result = { bytes: 0, sha256: '' }
  for await (const _ of measured(source, result));
  return result
}

/** Record of a run whose process does not exist any more. */
const endedRun: Run = { product: '', startedAt: 0, renewedAt: 0, host: '', space: '', pid: 0, scratch: '' }

const webStream = (source: AsyncIterable<Uint8Array>) =>
  Readable.toWeb(Readable.from(source, { objectMode: false })) as globalThis.ReadableStream<Uint8Array>
const iterable = (stream: globalThis.ReadableStream<Uint8Array>) => stream as ReadableStream<Uint8Array>

/** One backup in its place. */
export class Vault {
  readonly id: string
  readonly objects: StoredObject[] = []
  readonly place: Place
  #count = 0

  constructor(place: Place, id: string) {
    this.place = place
    this.id = id
  }

  path(name: string): string {
    return `${this.place.prefix}${this.id}/${name}`
  }

  /** Encrypts a file for the recipient and stores it. */
  async seal(
    recipient: string,
    header: Pick<Entry, 'kind' | 'disk' | 'path'>,
    content: AsyncIterable<Uint8Array>,
  ): Promise<Entry> {
    this.#count++
    const object = `${String(this.#count).padStart(8, '0')}.age`
    return { ...header, ...(await this.sealAs(object, recipient, content)), object }
  }

  /** Encrypts and stores an object. Returns size and hash of the plain bytes. */
  async sealAs(name: string, recipient: string, content: AsyncIterable<Uint8Array>): Promise<Measured> {
    const encrypter = new Encrypter()
    encrypter.addRecipient(recipient)
    const [plain, stored] = [
      { bytes: 0, sha256: '' },
      { bytes: 0, sha256: '' },
    ]
    const encrypted = iterable(await encrypter.encrypt(webStream(measured(content, plain))))
    await this.place.disk.write(this.path(name), measured(encrypted, stored))
    this.objects.push({ name, ...stored })
    return plain
  }

  async writeText(name: 'manifest.json' | 'run.json' | 'failure.json', value: unknown): Promise<void> {
    await this.place.disk.write(this.path(name), one(Buffer.from(JSON.stringify(value))))
  }

  /** Returns undefined if the object is missing. */
  async readText(name: string): Promise<string | undefined> {
    const file = await this.place.disk.open(this.path(name))
    return file === undefined ? undefined : (await collect(file.content)).toString()
  }

  /** @throws PlinthError `PLINTH_BACKUP_DAMAGED` */
  async #open(name: string): Promise<Readable> {
    const file = await this.place.disk.open(this.path(name))
    if (file === undefined) throw this.damaged(`the file ${this.path(name)} is missing`)
    return file.content
  }

  damaged(reason: string, cause?: unknown) {
    return backupError('PLINTH_BACKUP_DAMAGED', { id: this.id, reason }, cause)
  }

  /**
   * Reads the encrypted bytes of an object and compares size and hash.
   *
   * @throws PlinthError `PLINTH_BACKUP_DAMAGED`
   */
  async check({ name, bytes, sha256 }: StoredObject): Promise<void> {
    const found = await measure(await this.#open(name))
    if (found.bytes !== bytes) {
      throw this.damaged(`the file ${this.path(name)} has ${found.bytes} bytes instead of ${bytes}`)
    }
    if (found.sha256 !== sha256) throw this.damaged(`the bytes of the file ${this.path(name)} were changed`)
  }

  /**
   * Decrypts an object. A part of it may be yielded before the error of its end, so write it to a temporary file.
   *
   * @throws PlinthError `PLINTH_BACKUP_DAMAGED`
   */
  async *decrypt(name: string, identities: readonly string[]): AsyncGenerator<Uint8Array> {
    const content = await this.#open(name)
    try {
      const decrypter = new Decrypter()
      for (const identity of identities) decrypter.addIdentity(identity)
      yield* iterable(await decrypter.decrypt(webStream(content)))
    } catch (error) {
      throw this.damaged(`the file ${this.path(name)} cannot be decrypted (${errorReason(error)})`, error)
    } finally {
      content.destroy()
    }
  }

  /**
   * Decrypts the file of an entry and compares size and hash at its end.
   *
   * @throws PlinthError `PLINTH_BACKUP_DAMAGED`
   */
  async *unseal(entry: Entry, identities: readonly string[]): AsyncGenerator<Uint8Array> {
    const found = { bytes: 0, sha256: '' }
    yield* measured(this.decrypt(entry.object, identities), found)
    if (found.bytes !== entry.bytes || found.sha256 !== entry.sha256) {
      throw this.damaged(`the content of the file ${this.path(entry.object)} is not the one that was backed up`)
    }
  }

  /** Marks the backup as complete. */
  async finish(manifest: Manifest): Promise<void> {
    await this.writeText('manifest.json', manifest)
    await this.place.disk.delete(this.path('run.json'))
  }

  /**
   * Removes the backup. The manifest is removed first, so that a part of a backup never counts as complete. If the
   * process dies meanwhile, the record of a run makes the next run remove the rest.
   */
  async remove(): Promise<void> {
    const { disk } = this.place
    if ((await this.readText('run.json')) === undefined) {
      // On a full disk, the record is omitted.
      await this.writeText('run.json', endedRun).catch(() => undefined)
    }
    await disk.delete(this.path('manifest.json'))
    for await (const { path } of disk.list(`${this.place.prefix}${this.id}`)) {
      if (path !== this.path('run.json')) await disk.delete(path)
    }
    await disk.delete(this.path('run.json'))
  }
}

/** The content of a place. Each list begins with the newest backup. */
export interface BackupList {
  readonly complete: readonly Manifest[]
  /** Runs that have not ended. The record is missing if the files were not written by a run. */
  readonly unfinished: readonly (readonly [Vault, Run | undefined])[]
  readonly failed: readonly (readonly [Vault, Failure])[]
  /** Ids of backups whose manifest is malformed. It may be repaired from another copy, so they are not removed. */
  readonly damaged: readonly string[]
}

export async function listBackups(place: Place): Promise<BackupList> {
  const files = new Map<string, Set<string>>()
  for await (const { path } of place.disk.list(place.prefix.slice(0, -1))) {
    const [id = '', name = ''] = path.slice(place.prefix.length).split('/')
    if (!isBackupId(id)) continue
    const names = files.get(id)
    if (names === undefined) files.set(id, new Set([name]))
    else names.add(name)
  }
  const complete: Manifest[] = []
  const unfinished: (readonly [Vault, Run | undefined])[] = []
  const failed: (readonly [Vault, Failure])[] = []
  const damaged: string[] = []
  for (const [id, names] of [...files].sort(([a], [b]) => (a < b ? 1 : -1))) {
    const vault = new Vault(place, id)
    if (names.has('manifest.json')) {
      const text = await vault.readText('manifest.json')
      const manifest = parseManifest(text ?? '')
      if (manifest !== undefined && manifest.id === id) complete.push(manifest)
      else if (text !== undefined) damaged.push(id)
      continue
    }
    const failure = names.size === 1 ? parseFailure((await vault.readText('failure.json')) ?? '') : undefined
    if (failure !== undefined) failed.push([vault, failure])
    else unfinished.push([vault, parseRun((await vault.readText('run.json')) ?? '')])
  }
  return { complete, unfinished, failed, damaged }
}

/**
 * Lists the backups within a time limit, because a place on another machine may not respond.
 *
 * @throws PlinthError `PLINTH_BACKUP_PLACE`
 */
export async function listBackupsWithin(place: Place, clock: Clock, ms: number): Promise<BackupList> {
  const fail = (reason: string, cause?: unknown) =>
    backupError('PLINTH_BACKUP_PLACE', { place: place.name, reason }, cause)
  const late = () => fail(`it did not respond within ${ms / 1000} s`)
  return withinDeadline(clock, ms, () => listBackups(place), late).catch((error: unknown) => {
    throw isPlinthError(error) && error.code === 'PLINTH_BACKUP_PLACE' ? error : fail(errorReason(error), error)
  })
}

/** Leaves out backups of other products that use the same place. Runs and failures are left out, too. */
export const ofProduct = (list: BackupList, product: string): BackupList => ({
  ...list,
  unfinished: list.unfinished.filter(([, run]) => run === undefined || run.product === '' || run.product === product),
  complete: list.complete.filter((one) => one.product === product),
  failed: list.failed.filter(([, failure]) => failure.product === product),
})

/**
 * Returns the newest complete backup that is not from the future. The clocks of two instances differ a little; a backup that is `maxAgeMs`
 * ahead was made with a wrong clock, and must not delay the next one.
 *
 * @param now milliseconds since the epoch
 */
export const newestBackup = ({ complete }: BackupList, maxAgeMs: number, now: number): Manifest | undefined =>
  complete.find(({ createdAt }) => Date.parse(createdAt) - now < maxAgeMs)

/** @throws PlinthError `PLINTH_BACKUP_UNKNOWN`, `PLINTH_BACKUP_DAMAGED` */
export async function openBackup(
  place: Place,
  id: string,
): Promise<{ readonly vault: Vault; readonly manifest: Manifest }> {
  const vault = new Vault(place, id)
  const text = isBackupId(id) ? await vault.readText('manifest.json') : undefined
  if (text === undefined) throw backupError('PLINTH_BACKUP_UNKNOWN', { id, place: place.name })
  const manifest = parseManifest(text)
  if (manifest === undefined || manifest.id !== id) throw vault.damaged('its manifest is malformed')
  return { vault, manifest }
}

/**
 * Returns the secret keys of an identity file of age.
 *
 * @throws PlinthError `PLINTH_BACKUP_OPTIONS`, `PLINTH_BACKUP_KEY`
 */
export async function readIdentities(text: string, recipient: string): Promise<readonly string[]> {
  const identities = text.split(/\r?\n/).filter((line) => line.startsWith('AGE-SECRET-KEY-'))
  if (identities.length === 0) {
    throw backupError('PLINTH_BACKUP_OPTIONS', { reason: 'the identity file contains no line with AGE-SECRET-KEY-' })
  }
  for (const identity of identities) {
    const own = await identityToRecipient(identity).catch((error: unknown) => {
      throw backupError('PLINTH_BACKUP_OPTIONS', { reason: 'the identity file contains a malformed secret key' }, error)
    })
    if (own === recipient) return [identity]
  }
  throw backupError('PLINTH_BACKUP_KEY', { recipient })
}

async function* one(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk
}

/** Reads a small object completely. */
export async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > maxListBytes) throw new RangeError(`a list of a backup is longer than ${maxListBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
