import type { Readable } from 'node:stream'
import type { HttpReply, HttpRequest } from '@plinth/http'
import { errorCodeOf, extensionPoint, service, shape } from '@plinth/kernel'

/** Content of a file. Strings are written in UTF-8. */
export type FileContent = string | Uint8Array | AsyncIterable<string | Uint8Array>

export interface FileStat {
  readonly path: string
  /** Size in bytes. */
  readonly size: number
  readonly modifiedAt: Date
}

export interface OpenFile extends FileStat {
  /** Stream with the content, which must be read to its end or destroyed. */
  readonly content: Readable
}

/** Range of bytes. Both positions are zero-based and inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** An open file. Its fields and bytes belong to the same content, even if another process replaces the file. */
export interface StoredFile extends FileStat {
  /**
   * Identifies the content: 1 to 128 characters of `A-Z a-z 0-9 . _ -`. It changes when the content at the path
   * changes, if the disk can detect this.
   */
  readonly version: string
  /**
   * Reads a part of the file. Must be called at most once. The stream closes the file when it ends or is destroyed.
   *
   * If the file was replaced or deleted and the disk no longer has the old content, the stream fails with the error
   * `fileReplaced()`.
   */
  read(part: ByteRange): Readable
  /** Closes a file that is not read. */
  close(): Promise<void>
}

export interface UrlOptions {
  /**
   * Lifetime of the URL of a private file in milliseconds, rounded to seconds. Default:
   * `platform.storage.signed-url.lifetime`.
   */
  readonly expiresInMs?: number
  /**
   * Guard that checks each download; see `Storage.guardUrls`. If absent, everyone with the URL of a private file can
   * use it until it expires.
   */
  readonly grant?: {
    readonly guard: string
    /**
     * What the guard checks, for example the ids of a task and a user: 1 to 128 characters of `A-Z a-z 0-9 . _ -`.
     * Visible in the URL.
     */
    readonly subject: string
  }
  /**
   * File name for the download, at most 200 characters. If present, browsers save the file instead of displaying it.
   */
  readonly name?: string
}

const diskErrorCodes = { unavailable: 'DISK_UNAVAILABLE', replaced: 'FILE_REPLACED' } as const

/**
 * Returns the error that a disk throws while it cannot be used, for example because its server does not respond. The
 * caller of `Storage` receives `PLINTH_STORAGE_DISK_UNAVAILABLE` (503).
 *
 * @param reason text for the log, without secrets
 */
export const diskUnavailable = (reason: string, cause?: unknown): Error =>
  Object.assign(new Error(reason, { cause }), { code: diskErrorCodes.unavailable })

/** Returns the error of `StoredFile.read` if the opened content no longer exists. */
export const fileReplaced = (): Error =>
  Object.assign(new Error('The file was replaced while it was read'), { code: diskErrorCodes.replaced })

/** Returns true for the errors of `diskUnavailable`. */
export const isDiskUnavailable = (error: unknown): boolean => errorCodeOf(error) === diskErrorCodes.unavailable

/** Returns true for the errors of `fileReplaced`. */
export const isFileReplaced = (error: unknown): boolean => errorCodeOf(error) === diskErrorCodes.replaced

/**
 * A store of files. Paths follow the rules of `Storage`. A plugin contributes it under a name, for example `s3`:
 * lower-case words with hyphens.
 */
export interface Disk {
  /**
   * `public`: everyone may read all files. `private`: a file can only be read with a signed URL or through a plugin.
   */
  readonly visibility: 'public' | 'private'
  /** Writes the whole content, or nothing if it fails. Replaces an existing file atomically. */
  write(path: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /**
   * Writes the whole content if there is no file at the path, and returns true. Otherwise changes nothing and returns
   * false. Absent if the disk cannot decide and write in one step.
   */
  create?(path: string, content: AsyncIterable<Uint8Array>): Promise<boolean>
  open(path: string): Promise<OpenFile | undefined>
  stat(path: string): Promise<FileStat | undefined>
  delete(path: string): Promise<boolean>
  /** Returns all files below the directory in any order; `''` is the whole disk. */
  list(directory: string): AsyncIterable<FileStat>
  /** Throws with a reason if files cannot be written now. Must end when the signal aborts. */
  verify(signal: AbortSignal): Promise<void>
  /**
   * Removes unfinished files of dead processes; see `platform.storage.sweep.fixed-delay`. Absent if no such files can
   * remain.
   */
  sweep?(signal: AbortSignal): Promise<void>
  /**
   * Keeps the files that any process deletes from now on, so that a backup can read them. Ends when `end` is called, or
   * if `renew` is not called for ten minutes. If absent, deleted files cannot be kept.
   */
  keepDeleted?(): Promise<KeptFiles>
  /** Opens a file so that parts of it can be sent. If absent, files can only be sent completely. */
  hold?(path: string): Promise<StoredFile | undefined>
  /**
   * Returns the URL at which clients get the file from the disk directly. If absent, the product sends the file. Not
   * called for files whose directory has a guard, and for the permanent URLs of the disk `public`.
   */
  url?(path: string, options: { readonly expiresInMs: number; readonly name?: string }): Promise<string>
}

/** Files that were deleted since `Disk.keepDeleted` was called. */
export interface KeptFiles {
  readonly disk: Pick<Disk, 'list' | 'open'>
  renew(): Promise<void>
  /** Removes the files. */
  end(): Promise<void>
}

/**
 * Disks in addition to the directories `public` and `local` (decision A15). The keys
 * `platform.storage.disks.{public,local}.driver` let such a disk store the files of a standard disk, under its name.
 */
export const storageDisk = extensionPoint<Disk>('storage.disk', {
  from: '@plinth/storage',
  names: shape.kebab,
  shape: shape.object<Disk>(
    {
      visibility: shape.among(['public', 'private']),
      write: shape.function,
      open: shape.function,
      stat: shape.function,
      delete: shape.function,
      list: shape.function,
      verify: shape.function,
    },
    {
      create: shape.function,
      sweep: shape.function,
      keepDeleted: shape.function,
      hold: shape.function,
      url: shape.function,
    },
  ),
})

export interface DiskInfo {
  readonly name: string
  readonly visibility: Disk['visibility']
  readonly enabled: boolean
}

export interface PutOptions {
  /** Maximum number of bytes. Default and upper limit: `platform.storage.max-file-size`. */
  readonly maxBytes?: number
  /** True: an existing file is not replaced. Then `put` throws `storage.file-exists`. Default: false. */
  readonly onlyNew?: boolean
  readonly signal?: AbortSignal
}

/** A request, as handlers of raw routes receive it. */
export type GuardedRequest = HttpRequest

/**
 * Checks whether a signed URL may still be used, and throws a `BusinessError` if not, for example because its user was
 * disabled. Runs after the signature was checked and before the file is sent.
 */
export type UrlGuard = (
  subject: string,
  file: { readonly disk: string; readonly path: string },
  request: GuardedRequest,
) => Promise<void>

export interface FileToSend {
  readonly disk: string
  readonly path: string
  /** File name for the download; see `UrlOptions.name`. */
  readonly name?: string
  /** Value of `Cache-Control` for the file and for `304` responses. Default: `private, no-store`. */
  readonly cacheControl?: string
}

/**
 * Files on disks.
 *
 * A path is relative, uses `/` between its segments and is in Unicode form NFC. A path has at most 512 bytes, and each
 * segment has at most 200 bytes. A segment must not contain `\ : * ? " < > | %` or control characters, must not begin
 * or end with a dot or white space, and must not be a Windows device name such as `CON`.
 *
 * The plugin that writes a private file must protect it. It must choose the file names itself and must not use a name
 * from a client unchanged.
 *
 * @throws BusinessError "400" `storage.path-invalid`, "404" `storage.disk-unknown`, "503" `storage.disk-disabled`
 */
export interface Storage {
  /** Absolute path of the directory with the disks. Plugins may store other files there, such as logs. */
  readonly root: string
  /** Name of the disk for files that everyone may read. */
  readonly publicDisk: string
  /** Name of the disk for private files. */
  readonly localDisk: string
  disks(): readonly DiskInfo[]
  /**
   * Returns the disk without the limits of `put`, for programs that copy all files, such as a backup. The disk does not
   * check paths; see `pathProblem`.
   *
   * @throws BusinessError "404" `storage.disk-unknown`
   */
  rawDisk(disk: string): Disk

  /**
   * Writes a whole file or nothing, and replaces an existing file atomically. After it returns, the new content
   * survives a power loss, except on Windows, where directories cannot be synced.
   *
   * @throws BusinessError "400" `storage.file-too-large`, "409" `storage.file-exists` with `onlyNew`, "409"
   *   `storage.path-taken` if the path is a directory or leads through a file
   * @throws TypeError if the disk does not support `onlyNew`
   */
  put(disk: string, path: string, content: FileContent, options?: PutOptions): Promise<FileStat>
  /** @throws BusinessError "404" `storage.file-unknown` */
  open(disk: string, path: string): Promise<OpenFile>
  stat(disk: string, path: string): Promise<FileStat | undefined>
  delete(disk: string, path: string): Promise<boolean>
  /** Returns all files below the directory in any order. Default: the whole disk. */
  list(disk: string, directory?: string): AsyncIterable<FileStat>

  /**
   * Returns the URL of a file, which need not exist. A URL of the disk `public` does not expire, unless the options
   * contain a name or a grant. All other URLs are signed and expire. Store the disk and the path, not the URL, because
   * it depends on the configuration.
   */
  resolveUrl(disk: string, path: string, options?: UrlOptions): Promise<string>
  /**
   * Adds a guard for signed URLs. Must be called during setup in every process role that serves these URLs.
   *
   * @param name name in the URLs: lower-case words with hyphens
   * @param directory first segment of paths. Files below it, on every disk, can only be read with a grant of this
   *   guard, even on a public disk
   * @throws PlinthError `PLINTH_STORAGE_URL_GUARD` if the name is malformed or already used
   */
  guardUrls(name: string, guard: UrlGuard, directory?: string): void
  /**
   * Sends a file as the response of a raw route. Supports `Range`, `304` and `HEAD`, and sets headers that prevent
   * browsers from executing the file. The route must first check that the caller may read the file. Sets no headers
   * before the first bytes are read. Errors, `412` and `416` are not cached.
   *
   * @throws BusinessError "404" `storage.file-unknown`
   */
  send(request: HttpRequest, reply: HttpReply, file: FileToSend): Promise<HttpReply>
  /**
   * Removes unfinished files of dead processes from all disks. If disks fail, continues and throws the first error at
   * the end.
   */
  sweep(signal: AbortSignal): Promise<void>
  /** Writes, reads and deletes a small file. Throws with a reason if a step fails. */
  probe(disk: string, signal: AbortSignal): Promise<void>
}

export const storage = service<Storage>('storage', { from: '@plinth/storage' })
