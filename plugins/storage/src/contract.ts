import type { Readable } from 'node:stream'
import type { HttpReply, HttpRequest } from '@plinth/http'
import { extensionPoint, service, shape } from '@plinth/kernel'

/** Content of a file. Strings are written in UTF-8. */
export type FileContent = string | Uint8Array | AsyncIterable<string | Uint8Array>

export interface FileStat {
  readonly path: string
  /** Bytes. */
  readonly size: number
  readonly modifiedAt: Date
}

export interface OpenFile extends FileStat {
  /** Read the stream to its end or destroy it. */
  readonly content: Readable
}

/** Range of bytes, counted from 0. Both ends are included. */
export interface FilePart {
  readonly start: number
  readonly end: number
}

/** An open file. Its fields and its parts belong to one content, also if the file is replaced meanwhile. */
export interface HeldFile extends FileStat {
  /**
   * Changes when the content at a path changes, if the disk can detect it. 1 to 128 characters of
   * `A-Z a-z 0-9 . _ -`.
   */
  readonly version: string
  /** Reads a part inside the file. Call it at most once. The stream closes the file when it ends or is destroyed. */
  read(part: FilePart): Readable
  /** Closes a file that was not read. */
  close(): Promise<void>
}

/** Options of a URL. */
export interface UrlOptions {
  /**
   * Milliseconds until the URL of a private file expires, in whole seconds. Default:
   * `platform.storage.signed-url.lifetime`.
   */
  readonly expiresInMs?: number
  /**
   * The guard that checks the URL at each download, see `Storage.guardUrls`. Without it, everyone who has the URL of a
   * private file can use it until it expires.
   */
  readonly grant?: {
    readonly guard: string
    /** The subject of the URL, such as the ids of a task and of a user: 1 to 128 of `A-Z a-z 0-9 . _ -`. Not secret. */
    readonly subject: string
  }
  /** File name of the download, at most 200 characters. If set, browsers never display the file. */
  readonly name?: string
}

/**
 * A store of files. Paths follow the rules of `Storage`. Contributed under its name, for example `s3`: lower-case words
 * with hyphens.
 */
export interface Disk {
  /** `public`: everyone may read every file. `private`: only with a signed URL, or through a plugin. */
  readonly visibility: 'public' | 'private'
  /** Writes the whole content or, if it fails, nothing. Replaces an existing file atomically. */
  write(path: string, content: AsyncIterable<Uint8Array>): Promise<void>
  open(path: string): Promise<OpenFile | undefined>
  stat(path: string): Promise<FileStat | undefined>
  /** Returns true if the file existed. */
  delete(path: string): Promise<boolean>
  /** Returns every file below the directory, without order; `''` is the whole disk. */
  list(directory: string): AsyncIterable<FileStat>
  /** Throws with a reason if files cannot be written now. Must end when the signal aborts. */
  verify(signal: AbortSignal): Promise<void>
  /** Removes unfinished files of dead writers, see `platform.storage.sweep.fixed-delay`. Absent if none can remain. */
  sweep?(signal: AbortSignal): Promise<void>
  /** Opens a file whose parts can be sent. If absent, files are only sent whole. */
  hold?(path: string): Promise<HeldFile | undefined>
  /** Returns the URL at which clients fetch the file from the disk itself. If absent, the product sends the file. */
  url?(path: string, options: { readonly expiresInMs: number; readonly name?: string }): Promise<string>
}

/** Disks in addition to `public` and `local`, which are directories (decision A15). */
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
    { sweep: shape.function, hold: shape.function, url: shape.function },
  ),
})

export interface DiskInfo {
  readonly name: string
  readonly visibility: Disk['visibility']
  readonly enabled: boolean
}

export interface PutOptions {
  /** Maximum number of bytes, if it is less than `platform.storage.max-file-size`. */
  readonly maxBytes?: number
  readonly signal?: AbortSignal
}

/** A request of the HTTP server, as handlers of raw routes receive it. */
export type GuardedRequest = HttpRequest

/**
 * Checks whether a signed URL is still valid. Throws a `BusinessError` if not, for example because its user was
 * disabled. Runs after the check of the signature and before any byte is sent.
 */
export type UrlGuard = (
  subject: string,
  file: { readonly disk: string; readonly path: string },
  request: GuardedRequest,
) => Promise<void>

export interface FileToSend {
  readonly disk: string
  readonly path: string
  /** See `UrlOptions.name`. */
  readonly name?: string
  /** `Cache-Control` of the file and of its `304` response; `private, no-store` when absent. */
  readonly cacheControl?: string
}

/**
 * Files on disks.
 *
 * A path is relative, with `/` between its segments. It has at most 512 bytes, each segment at most 200, in Unicode's
 * composed form (NFC). A segment contains none of `\ : * ? " < > | %` and no control character. It does not begin with
 * a dot or a blank, does not end with one, and is not a device name of Windows. The plugin that writes a private file
 * protects it: the product chooses file names and never uses a name from a client unchanged.
 *
 * @throws BusinessError "400" `storage.path-invalid`, "404" `storage.disk-unknown`, "503" `storage.disk-disabled`
 */
export interface Storage {
  /** Absolute path of the directory that contains the disks. Plugins may store other files there, such as logs. */
  readonly root: string
  /** Disk for files that everyone may read. */
  readonly publicDisk: string
  /** Disk for private files. */
  readonly localDisk: string
  disks(): readonly DiskInfo[]

  /**
   * Writes a whole file or nothing, and replaces an existing file atomically. After it returns, the new content
   * survives a power loss (on Windows the directory is not synced).
   *
   * @throws BusinessError "400" `storage.file-too-large`, "409" `storage.path-taken` if a directory is in the way
   */
  put(disk: string, path: string, content: FileContent, options?: PutOptions): Promise<FileStat>
  /** @throws BusinessError "404" `storage.file-unknown` */
  open(disk: string, path: string): Promise<OpenFile>
  stat(disk: string, path: string): Promise<FileStat | undefined>
  /** Returns true if the file existed. */
  delete(disk: string, path: string): Promise<boolean>
  /** Returns every file below the directory, by default of the whole disk, without order. */
  list(disk: string, directory?: string): AsyncIterable<FileStat>

  /**
   * Returns the URL of a file for the current configuration. The file need not exist. A URL on the disk `public` does
   * not expire, unless the options contain a name or a grant. Other URLs are signed and expire. Store disk and path,
   * not the URL.
   */
  resolveUrl(disk: string, path: string, options?: UrlOptions): Promise<string>
  /**
   * Adds a guard of signed URLs. Call it during setup, in every role that serves these URLs.
   *
   * @param name name in the URLs: lower-case words with hyphens
   * @param directory first segment of paths. Files below it, on every disk, are only served by a URL with a grant of
   *   this guard, and never as public files
   * @throws PlinthError `PLINTH_STORAGE_URL_GUARD` if the name is malformed or taken
   */
  guardUrls(name: string, guard: UrlGuard, directory?: string): void
  /**
   * Sends a file as the response of a raw route. Supports `Range`, `304` and `HEAD`, and sets headers that keep
   * browsers from executing any of it. The route must first decide whether the caller may read the file. No header is
   * set before the first bytes are read. Caches do not store errors, `412` and `416`.
   *
   * @throws BusinessError "404" `storage.file-unknown`
   */
  send(request: HttpRequest, reply: HttpReply, file: FileToSend): Promise<HttpReply>
  /**
   * Removes unfinished files of dead writers from all disks. Throws the first error, after all disks were processed.
   */
  sweep(signal: AbortSignal): Promise<void>
  /** Writes, reads and deletes a small file. Throws with a reason if a step fails. */
  probe(disk: string, signal: AbortSignal): Promise<void>
}

export const storage = service<Storage>('storage', { from: '@plinth/storage' })
