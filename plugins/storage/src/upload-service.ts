import { randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import type { Clock } from '@plinth/kernel'
import mime from 'mime'
import type { Storage } from './contract.ts'
import { businessError } from './declarations.ts'
import { pathProblem } from './storage-service.ts'
import { type FileView, maxUploadBytes, type Uploads, type UploadTarget } from './upload-contract.ts'
import type { UploadQuota } from './upload-quota.ts'

/** Directory of the uploads on the private disk. */
const directory = 'uploads'
/** Time in milliseconds for which an upload is kept for a form. */
const lifetimeMs = 24 * 60 * 60_000
const sweepMs = 60 * 60_000
/** Maximum length of a file name without its extension, in code points. */
const maxStem = 40
const uploadId = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\/[^/]+$/

/**
 * Returns a name for a file on a disk: letters, digits, dots, underscores and hyphens of the name that the client sent,
 * with its extension.
 */
export function safeFileName(name: string): string {
  const [extension = ''] = /\.[a-z\d]{1,10}$/i.exec(name) ?? []
  const stem = name
    .slice(0, name.length - extension.length)
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+|[.-]+$/g, '')
  const short = [...stem].slice(0, maxStem).join('')
  const safe = `${short}${extension.toLowerCase()}`
  return short === '' || pathProblem(safe) !== undefined ? `file${extension.toLowerCase()}` : safe
}

/** True if the type of the file, by its extension, is one of the media types. */
function isAccepted(name: string, types: readonly string[]): boolean {
  const type = mime.getType(name) ?? 'application/octet-stream'
  return types.some((one) => one === type || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))))
}

export class UploadService implements Uploads {
  readonly #storage: Storage
  readonly #clock: Clock
  readonly #databaseClock: Clock
  readonly #quota: UploadQuota
  /** Time of the next cleanup, because it lists all uploads. */
  #nextSweep = Number.NEGATIVE_INFINITY

  /** @param databaseClock the clock of the process if there is no database */
  constructor(storage: Storage, clock: Clock, databaseClock: Clock, quota: UploadQuota) {
    this.#storage = storage
    this.#clock = clock
    this.#databaseClock = databaseClock
    this.#quota = quota
  }

  /**
   * Stores an upload.
   *
   * @param user id of the user whose quota is used
   * @throws BusinessError "400" `storage.file-too-large`; the errors of `UploadQuota.take`
   */
  async add(name: string, content: Uint8Array, user: string): Promise<FileView> {
    if (content.byteLength > maxUploadBytes)
      throw businessError('file-too-large', { params: { limit: maxUploadBytes } })
    await this.#quota.take(user, content.byteLength)
    const { localDisk } = this.#storage
    const id = `${randomUUID()}/${safeFileName(name)}`
    await this.#storage.put(localDisk, `${directory}/${id}`, content, { maxBytes: maxUploadBytes })
    return { ...(await this.view(localDisk, `${directory}/${id}`)), id }
  }

  async take(id: string, { disk, directory: place, types, maxBytes, current, field }: UploadTarget): Promise<string> {
    if (id === current) return id
    const data = field === undefined ? {} : { field }
    const { localDisk } = this.#storage
    const source = `${directory}/${id}`
    const file = uploadId.test(id) ? await this.#storage.stat(localDisk, source) : undefined
    if (file === undefined) throw businessError('upload-unknown', { data })
    if (!isAccepted(id, types)) throw businessError('upload-type', { params: { types: types.join(', ') }, data })
    if (maxBytes !== undefined && file.size > maxBytes)
      throw businessError('file-too-large', { params: { limit: maxBytes }, data })
    const path = `${place}/${id}`
    const { content } = await this.#storage.open(localDisk, source)
    await this.#storage.put(disk, path, content)
    return path
  }

  async view(disk: string, path: string): Promise<FileView> {
    return { id: path, name: basename(path), url: await this.#storage.resolveUrl(disk, path) }
  }

  async sweep(signal: AbortSignal): Promise<void> {
    const { localDisk } = this.#storage
    const isEnabled = this.#storage.disks().some(({ name, enabled }) => name === localDisk && enabled)
    if (!isEnabled || this.#clock.monotonic() < this.#nextSweep) return
    this.#nextSweep = this.#clock.monotonic() + sweepMs
    // The clock of the host dates the files, and may be wrong. The earlier time decides, so no upload is deleted too early.
    const before = Math.min(this.#clock.now(), this.#databaseClock.now()) - lifetimeMs
    for await (const { path, modifiedAt } of this.#storage.list(localDisk, directory)) {
      if (signal.aborted) return
      if (modifiedAt.getTime() < before) await this.#storage.delete(localDisk, path)
    }
  }
}
