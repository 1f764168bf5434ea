import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { addAbortSignal, Readable } from 'node:stream'
import {
  type Clock,
  type ConfigView,
  fitTextToColumn,
  type Logger,
  omitUndefined,
  RepeatedFailureLog,
  withinDeadline,
} from '@plinth/kernel'
import type { keys } from './config.ts'
import {
  type Disk,
  type DiskInfo,
  type FileContent,
  type FileStat,
  type FileToSend,
  type GuardedRequest,
  isFileReplaced,
  type OpenFile,
  type PutOptions,
  type Storage,
  type StoredFile,
  type UrlGuard,
  type UrlOptions,
} from './contract.ts'
import { businessError, storageError } from './declarations.ts'
import { diskErrorOf } from './disk-reports.ts'
import { fileHeaders, responseFor } from './file-answer.ts'
import type { UrlSigner } from './url-signer.ts'

/** Maximum length of a path in bytes (UTF-8). */
const maxPathLength = 512
const maxSegmentLength = 200

/**
 * Characters that some operating systems use as separators or wildcards. `%` is forbidden, because a proxy might decode
 * it again.
 */
const forbiddenCharacter = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\\:*?"<>|%]/u
/** Names with a leading dot are reserved for the disk. Windows removes trailing dots and spaces. */
const awkwardEdge = /^[.\s]|[.\s]$/u
/** Windows device names, with any extension. */
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\.|$)/iu

/** Rules of paths. Each function returns true if the path violates the rule. The first violation is reported. */
const rules = {
  'wrong-length': (path) => path === '' || Buffer.byteLength(path) > maxPathLength,
  'wrong-character': (path) => forbiddenCharacter.test(path) || path.normalize('NFC') !== path,
  'wrong-segment': (path) => path.split('/').some((segment) => segment === '' || awkwardEdge.test(segment)),
  'segment-too-long': (path) => path.split('/').some((segment) => Buffer.byteLength(segment) > maxSegmentLength),
  'device-name': (path) => path.split('/').some((segment) => deviceName.test(segment)),
} as const satisfies Record<string, (path: string) => boolean>

export type PathRule = keyof typeof rules

/** Returns the rule that a path violates, or undefined for a valid path. */
export function pathProblem(path: string): PathRule | undefined {
  return (Object.keys(rules) as PathRule[]).find((rule) => rules[rule](path))
}

/** @throws BusinessError "400" `storage.path-invalid` */
function assertPath(path: string): void {
  const problem = pathProblem(path)
  if (problem !== undefined)
    throw businessError('path-invalid', { text: `path-invalid.${problem}`, data: { rule: problem } })
}

export const publicRoute = '/storage'
export const signedRoute = '/api/v1/storage/files'
/** Maximum length of a file name in code points. */
export const maxNameLength = 200
/** Time limit in milliseconds for reading the first bytes of a file. */
const firstBytesMs = 30_000
/** Maximum number of attempts to open a file that is replaced each time before it is read. */
const maxOpenAttempts = 5
const failureTexts = {
  failing: 'a disk of the storage cannot be used',
  over: 'a disk of the storage can be used again',
}
/**
 * Time in milliseconds without an error after which a disk is logged as usable again. It is needed because reads can
 * succeed while writes fail.
 */
const quietMs = 5_000
/** A disk with repeated failures makes the instance not ready after this time in milliseconds. */
const maxOutageMs = 10_000
const guardName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const grantSubject = /^[A-Za-z0-9._-]{1,128}$/

interface StorageDependencies {
  readonly config: ConfigView<typeof keys>
  /** Absolute path of the directory with the disks. */
  readonly root: string
  readonly disks: ReadonlyMap<string, Disk>
  readonly signer: UrlSigner
  readonly clock: Clock
  readonly log: Logger
}

/** Returns the same text for all names that some file system treats as equal. */
const comparable = (directory: string) => directory.normalize('NFKC').toLowerCase()

export class StorageService implements Storage {
  readonly #parts: StorageDependencies
  readonly #urlGuards = new Map<string, UrlGuard>()
  /** Failure logs by disk, for disks that have failed before. */
  readonly #failures = new Map<string, RepeatedFailureLog>()
  /** Name of the required guard, by directory. */
  readonly #guardOf = new Map<string, string>()
  readonly publicDisk: string
  readonly localDisk: string

  constructor(parts: StorageDependencies) {
    this.#parts = parts
    this.publicDisk = parts.config.get('platform.storage.public-disk')
    this.localDisk = parts.config.get('platform.storage.local-disk')
  }

  get root(): string {
    return this.#parts.root
  }

  rawDisk(name: string): Disk {
    return this.#parts.disks.get(name) ?? unknownDisk(name)
  }

  disks(): readonly DiskInfo[] {
    return [...this.#parts.disks].map(([name, { visibility }]) => ({
      name,
      visibility,
      enabled: this.#isEnabled(name),
    }))
  }

  async put(disk: string, path: string, content: FileContent, options: PutOptions = {}): Promise<FileStat> {
    const target = this.#disk(disk, path)
    const largest = this.#parts.config.get('platform.storage.max-file-size')
    const limit = Math.min(largest, options.maxBytes ?? largest)
    const source = Readable.from(limited(content, limit), { objectMode: false })
    if (options.signal !== undefined) addAbortSignal(options.signal, source)
    return this.#ask(disk, async () => {
      if (options.onlyNew !== true) await target.write(path, source)
      else if (target.create === undefined) throw new TypeError(`The disk "${disk}" does not support onlyNew`)
      else if (!(await target.create(path, source))) throw businessError('file-exists')
      return (await target.stat(path)) ?? missing()
    })
  }

  async open(disk: string, path: string): Promise<OpenFile> {
    const target = this.#disk(disk, path)
    return this.#ask(disk, async () => (await target.open(path)) ?? missing())
  }

  async stat(disk: string, path: string): Promise<FileStat | undefined> {
    const target = this.#disk(disk, path)
    return this.#ask(disk, () => target.stat(path))
  }

  async delete(disk: string, path: string): Promise<boolean> {
    const target = this.#disk(disk, path)
    return this.#ask(disk, () => target.delete(path))
  }

  list(disk: string, directory = ''): AsyncIterable<FileStat> {
    return this.#disk(disk, directory === '' ? undefined : directory).list(directory)
  }

  async resolveUrl(disk: string, path: string, options: UrlOptions = {}): Promise<string> {
    const { config, signer } = this.#parts
    const target = this.#disk(disk, path)
    const name = options.name === undefined ? undefined : fitTextToColumn(options.name, maxNameLength)
    const expiresInMs = options.expiresInMs ?? config.get('platform.storage.signed-url.lifetime')
    const { grant } = options
    if (grant !== undefined) this.#assertGrant(grant)
    const base = config.get('platform.storage.base-url')
    if (disk === 'public' && name === undefined && grant === undefined) {
      const own = config.get('platform.storage.disks.public.base-url')
      return `${own === '' ? base + publicRoute : own}/${encodedPath(path)}`
    }
    // A URL that the disk creates itself would bypass the guard.
    if (target.url !== undefined && grant === undefined && this.requiredGuard(path) === undefined) {
      return target.url(path, omitUndefined({ expiresInMs, name }))
    }
    const query = await signer.sign(
      { disk, path, name, grant: grant && `${grant.guard}:${grant.subject}` },
      expiresInMs,
    )
    return `${base}${signedRoute}/${disk}/${encodedPath(path)}?${query}`
  }

  guardUrls(name: string, guard: UrlGuard, directory?: string): void {
    if (!guardName.test(name) || this.#urlGuards.has(name)) throw storageError('PLINTH_STORAGE_URL_GUARD', { name })
    this.#urlGuards.set(name, guard)
    if (directory !== undefined) this.#guardOf.set(comparable(directory), name)
  }

  /** Returns the name of the guard that must allow access to the file, or undefined. */
  requiredGuard(path: string): string | undefined {
    const [directory = ''] = path.split('/', 1)
    return this.#guardOf.get(comparable(directory))
  }

  /**
   * Asks the guard of a URL whether the URL may still be used.
   *
   * @throws BusinessError "403" `storage.url-revoked` if the guard does not exist or the required grant is missing;
   *   errors of the guard
   */
  async checkGrant(
    grant: string | undefined,
    file: Pick<FileToSend, 'disk' | 'path'>,
    request: GuardedRequest,
  ): Promise<void> {
    const required = this.requiredGuard(file.path)
    if (grant === undefined && required === undefined) return
    const [name = '', subject = ''] = (grant ?? '').split(':')
    const guard = this.#urlGuards.get(name)
    if (guard === undefined || (required !== undefined && required !== name)) throw businessError('url-revoked')
    await guard(subject, file, request)
  }

  async send(
    request: Parameters<Storage['send']>[0],
    reply: Parameters<Storage['send']>[1],
    { disk, path, name, cacheControl = 'private, no-store' }: FileToSend,
  ): ReturnType<Storage['send']> {
    const { clock } = this.#parts
    const target = this.#disk(disk, path)
    const begin = async (signal: AbortSignal) => {
      const file = (await held(target, path)) ?? missing()
      const answer = responseFor(request.raw, file, clock.now())
      if (answer.part === undefined || signal.aborted) await file.close()
      signal.throwIfAborted()
      return { answer, content: answer.part && (await begun(file.read(answer.part), signal)) }
    }
    // Opens the file again if it was replaced before its first byte.
    const work = (signal: AbortSignal, attempt = 1): ReturnType<typeof begin> =>
      begin(signal).catch((error: unknown) => {
        if (attempt < maxOpenAttempts && isFileReplaced(error)) return work(signal, attempt + 1)
        throw error
      })
    const late = () => new Error(`Disk "${disk}" gave nothing of a file within ${firstBytesMs} ms`)
    const { answer, content } = await this.#ask(disk, () =>
      withinDeadline(clock, firstBytesMs, (signal) => work(signal), late),
    )
    const { status } = answer
    const isFile = status !== 412 && status !== 416
    const own = { ...(isFile ? fileHeaders(path, name) : {}), 'cache-control': isFile ? cacheControl : 'no-store' }
    return reply
      .code(status)
      .headers({ ...own, ...answer.headers })
      .send(content ?? Readable.from([]))
  }

  async sweep(signal: AbortSignal): Promise<void> {
    const failures: unknown[] = []
    for (const disk of this.#parts.disks.values()) {
      if (signal.aborted) break
      await disk.sweep?.(signal).catch((error: unknown) => failures.push(error))
    }
    if (failures.length > 0) throw failures[0]
  }

  async probe(disk: string, signal: AbortSignal): Promise<void> {
    const path = `plinth-probe/${randomUUID()}`
    await this.put(disk, path, path, { signal })
    try {
      const chunks = await (await this.open(disk, path)).content.toArray({ signal })
      if (Buffer.concat(chunks).toString() !== path) throw new Error(`Disk "${disk}" reads what was not written`)
    } finally {
      await this.delete(disk, path)
    }
  }

  /**
   * Runs an operation of a disk. Converts an outage of the disk to an "unavailable" error, and logs it once until the
   * disk works again.
   */
  async #ask<T>(disk: string, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      this.#failures.get(disk)?.succeeded()
      return result
    } catch (error) {
      const outage = diskErrorOf(disk, error)
      if (outage === undefined) throw error
      const { log, clock } = this.#parts
      const failures = this.#failures.get(disk) ?? new RepeatedFailureLog(log, failureTexts, { clock, ms: quietMs })
      this.#failures.set(disk, failures)
      failures.failed(outage, { disk })
      throw outage
    }
  }

  /** Throws if calls of the disk have failed for some time, although its check may succeed in between. */
  assertUsable(disk: string): void {
    const outage = this.#failures.get(disk)?.lastErrorAfter(maxOutageMs)
    if (outage !== undefined) throw outage
  }

  #assertGrant({ guard, subject }: NonNullable<UrlOptions['grant']>): void {
    if (!this.#urlGuards.has(guard) || !grantSubject.test(subject)) {
      throw storageError('PLINTH_STORAGE_URL_GUARD', { name: guard })
    }
  }

  #isEnabled(disk: string): boolean {
    const { config } = this.#parts
    if (disk === 'public') return config.get('platform.storage.disks.public.enabled')
    return disk !== 'local' || config.get('platform.storage.disks.local.enabled')
  }

  /** Returns a disk. Throws if the disk is disabled or the path is invalid. */
  #disk(name: string, path: string | undefined): Disk {
    const disk = this.rawDisk(name)
    if (path !== undefined) assertPath(path)
    if (!this.#isEnabled(name)) throw businessError('disk-disabled', { params: { disk: name } })
    return disk
  }
}

function unknownDisk(disk: string): never {
  throw businessError('disk-unknown', { params: { disk } })
}

/** Opens a file to send. If the disk cannot read parts of a file, the file is only sent completely. */
async function held(disk: Disk, path: string): Promise<(StoredFile & { readonly hasParts: boolean }) | undefined> {
  if (disk.hold !== undefined) {
    const file = await disk.hold(path)
    if (file === undefined) return undefined
    const { size, modifiedAt, version } = file
    return {
      path,
      size,
      modifiedAt,
      version,
      hasParts: true,
      read: (part) => file.read(part),
      close: () => file.close(),
    }
  }
  const file = await disk.open(path)
  if (file === undefined) return undefined
  const { size, modifiedAt, content } = file
  return {
    path,
    size,
    modifiedAt,
    hasParts: false,
    version: modifiedAt.getTime().toString(16),
    read: () => content,
    close: async () => void content.destroy(),
  }
}

/** Waits for the first bytes, so that the response can still report an error. */
async function begun(content: Readable, signal: AbortSignal): Promise<Readable> {
  // Without this listener, an error before the file is sent would end the process.
  content.on('error', () => {})
  try {
    if (content.readableLength === 0 && !content.readableEnded) await once(content, 'readable', { signal })
    return content
  } catch (error) {
    content.destroy()
    throw error
  }
}

function missing(): never {
  throw businessError('file-unknown')
}

const encodedPath = (path: string) => path.split('/').map(encodeURIComponent).join('/')

/** Returns the content as bytes. Throws if it exceeds the limit. */
async function* limited(content: FileContent, limit: number): AsyncGenerator<Uint8Array> {
  let size = 0
  const whole = typeof content === 'string' || content instanceof Uint8Array
  for await (const chunk of whole ? [content] : content) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    size += bytes.byteLength
    if (size > limit) throw businessError('file-too-large', { params: { limit } })
    yield bytes
  }
}
