import type { Readable } from 'node:stream'
import type { HttpReply, HttpRequest } from '@plinth/http'
import { extensionPoint, service, shape } from '@plinth/kernel'

/** What can be written. Texts are written in UTF-8. */
export type FileContent = string | Uint8Array | AsyncIterable<string | Uint8Array>

export interface FileStat {
  readonly path: string
  /** Bytes. */
  readonly size: number
  readonly modifiedAt: Date
}

export interface OpenFile extends FileStat {
  /** Must be read to its end or destroyed. */
  readonly content: Readable
}

/** Bytes of a file, from 0, both included. */
export interface FilePart {
  readonly start: number
  readonly end: number
}

/**
 * A file that is held open: all that is told and read of it is of one content, also when another takes its place
 * meanwhile.
 */
export interface HeldFile extends FileStat {
  /** Two contents of a path have different ones, as far as the disk can tell. 1 to 128 of `A-Z a-z 0-9 . _ -`. */
  readonly version: string
  /** Called at most once, with a part that the file has. The stream lets go of the file when it ends or is destroyed. */
  read(part: FilePart): Readable
  /** Lets go of a file that was not read. */
  close(): Promise<void>
}

/** How a URL is to behave. */
export interface UrlOptions {
  /**
   * Milliseconds until the URL of a private file ends; `platform.storage.signed-url.lifetime` when absent. Whole
   * seconds count.
   */
  readonly expiresInMs?: number
  /**
   * Who is asked at each fetch whether the URL still holds, see `Storage.guardUrls`. Without it the URL of a private file is
   * good for whoever has it, until it ends.
   */
  readonly grant?: {
    readonly guard: string
    /** What the URL was given for, such as the ids of a task and of a user: 1 to 128 of `A-Z a-z 0-9 . _ -`. Not secret. */
    readonly subject: string
  }
  /** File name for the one who downloads it; the file is then never shown in the browser. At most 200 characters. */
  readonly name?: string
}

/**
 * A place for files. Paths that reach it follow the rules of `Storage`. Contributed under its name, for example `s3`:
 * lower-case words with hyphens.
 */
export interface Disk {
  /** `public`: everybody may read every file. `private`: only who holds a signed URL, or what a plugin hands out. */
  readonly visibility: 'public' | 'private'
  /** Writes the whole content or, when it fails, nothing; replaces what was there in one step. */
  write(path: string, content: AsyncIterable<Uint8Array>): Promise<void>
  open(path: string): Promise<OpenFile | undefined>
  stat(path: string): Promise<FileStat | undefined>
  /** True when there was a file. */
  delete(path: string): Promise<boolean>
  /** Every file below the directory, in no order; `''` is the whole disk. */
  list(directory: string): AsyncIterable<FileStat>
  /** Throws with a reason when files cannot be written now. Must give up when the signal aborts. */
  verify(signal: AbortSignal): Promise<void>
  /** Removes what writers left that died, as `platform.storage.sweep.fixed-delay` says. Absent where nothing stays. */
  sweep?(signal: AbortSignal): Promise<void>
  /** Opens a file of which parts can be sent. Absent: files are sent in one piece. */
  hold?(path: string): Promise<HeldFile | undefined>
  /** URL at which clients fetch the file from the disk itself. Absent: the product sends it. */
  url?(path: string, options: { readonly expiresInMs: number; readonly name?: string }): Promise<string>
}

/** Disks beside `public` and `local`, which are directories (decision A15). */
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
  /** Bytes at most, when that is less than `platform.storage.max-file-size`. */
  readonly maxBytes?: number
  readonly signal?: AbortSignal
}

/** A request of the HTTP server, as handlers of raw routes see it. */
export type GuardedRequest = HttpRequest

/**
 * Says whether a signed URL still holds: throws a `BusinessError` when it does not, for example because the user whom it
 * was made for was disabled. Runs after the signature was checked, before anything of the file is sent.
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
  /** `Cache-Control` of the file and of what says that it has not changed; `private, no-store` when absent. */
  readonly cacheControl?: string
}

/**
 * Files on disks. A path is relative, with `/` between its segments: up to 512 bytes in all and 200 in each segment, in
 * Unicode's composed form (NFC). A segment has none of `\ : * ? " < > | %` and no control character, does not begin
 * with a dot or a blank nor end with one, and is no name that Windows keeps for devices. What is private on a disk is
 * the business of whoever puts it there: names of files come from the product, never from a client as they are.
 *
 * @throws BusinessError "400" `storage.path-invalid`, "404" `storage.disk-unknown`, "503" `storage.disk-disabled`
 */
export interface Storage {
  /** Absolute path of the directory that holds the disks; for files that a plugin keeps beside them, such as logs. */
  readonly root: string
  /** Disk for files that everybody may read. */
  readonly publicDisk: string
  /** Disk for private files. */
  readonly localDisk: string
  disks(): readonly DiskInfo[]

  /**
   * Writes a file, whole or not at all; what was there is replaced in one step, and survives a loss of power from then on.
   *
   * @throws BusinessError "400" `storage.file-too-large`, "409" `storage.path-taken` where a directory is in the way
   */
  put(disk: string, path: string, content: FileContent, options?: PutOptions): Promise<FileStat>
  /** @throws BusinessError "404" `storage.file-unknown` */
  open(disk: string, path: string): Promise<OpenFile>
  stat(disk: string, path: string): Promise<FileStat | undefined>
  /** True when there was a file. */
  delete(disk: string, path: string): Promise<boolean>
  /** Every file below the directory, in no order; all without one. */
  list(disk: string, directory?: string): AsyncIterable<FileStat>

  /**
   * URL of a file by the present configuration, whether or not the file exists: lasting for a public one, signed and
   * for a limited time for a private one. Store disk and path, not the URL.
   */
  resolveUrl(disk: string, path: string, options?: UrlOptions): Promise<string>
  /**
   * Adds a guard of signed URLs, during set-up, in every role that serves them.
   *
   * @param name that URLs carry: lower-case words with hyphens
   * @param directory first segment of paths. Files below it, on every disk, are served only by a URL with a grant of this guard,
   *   also when another guard signed the URL; they do not exist as public files
   * @throws PlinthError `PLINTH_STORAGE_URL_GUARD` for a malformed or taken name
   */
  guardUrls(name: string, guard: UrlGuard, directory?: string): void
  /**
   * Answers a raw route with a file: parts of it (`Range`), `304` and `HEAD` included, and with headers by which no
   * browser runs anything of it. Whether the caller may have it is for the route to decide first. No header is set before
   * the first bytes are there, and what is no file (a failure, `412`, `416`) is kept by no cache.
   *
   * @throws BusinessError "404" `storage.file-unknown`
   */
  send(request: HttpRequest, reply: HttpReply, file: FileToSend): Promise<HttpReply>
  /** Removes from all disks what writers left that died. Throws what the first disk throws that fails, after all had their turn. */
  sweep(signal: AbortSignal): Promise<void>
  /** Writes, reads and deletes a small file. Throws with a reason when one of it fails. */
  probe(disk: string, signal: AbortSignal): Promise<void>
}

export const storage = service<Storage>('storage', { from: '@plinth/storage' })
