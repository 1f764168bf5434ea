import { type BigIntStats, constants, createReadStream } from 'node:fs'
import {
  access,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  opendir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { type Clock, errorCodeOf } from '@plinth/kernel'
import { makePrivateDirectory } from '@plinth/kernel/host'
import type { Disk, FileStat, KeptFiles, OpenFile, StoredFile } from './contract.ts'
import { businessError } from './declarations.ts'
import { assertFreeSpace } from './disk-reports.ts'
import { UnfinishedFiles } from './drafts.ts'

/** System codes for a path that is not a readable file, for example missing, a symbolic link or a socket. */
const noFile = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'])

/** `O_NONBLOCK` and `O_NOFOLLOW` do not exist on Windows, which has no named pipes in its file system. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)

interface RegularFile {
  readonly handle: FileHandle
  /** Facts about the open file, even if the path gets another content. */
  readonly stat: BigIntStats
}

/**
 * Opens a regular file for reading, or returns undefined. Opening a named pipe would wait for a writer and block a
 * thread, so it is not attempted. The caller must close the handle.
 *
 * @param file absolute path without symbolic links
 */
async function openRegular(file: string): Promise<RegularFile | undefined> {
  let handle: FileHandle
  try {
    handle = await open(file, flags)
  } catch (error) {
    if (noFile.has(errorCodeOf(error) ?? '')) return undefined
    throw error
  }
  let isKept = false
  try {
    const stat = await handle.stat({ bigint: true })
    isKept = stat.isFile()
    return isKept ? { handle, stat } : undefined
  } finally {
    if (!isKept) await handle.close()
  }
}

/**
 * Directory for files that are being written. No path of a stored file leads there, because a path segment cannot begin
 * with a dot.
 */
const draftsName = '.drafts'
/** Directory for files that were deleted during a backup. */
const keptName = '.kept'
/** Milliseconds without a renewal after which a backup counts as ended. */
const keepMs = 10 * 60_000
/** Time in milliseconds for which a successful test write is valid. */
const proofMs = 5_000
/**
 * Maximum number of attempts to move a written file to its path. An attempt fails if another process deletes the last
 * file of the target directory and removes the directory.
 */
const attempts = 100

/** System codes for a directory in place of a file, or a file in place of a directory. */
const inTheWay = new Set(['EISDIR', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'])

const isMissing = (error: unknown) => errorCodeOf(error) === 'ENOENT' || errorCodeOf(error) === 'ENOTDIR'

/** True if `real` is the root or is below it. Both arguments must be real paths. */
const isWithin = (root: string, real: string) =>
  real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)

/** Returns undefined if the file does not exist. */
async function orMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/**
 * Stores files in a directory, which is created at the first write. A file behind a symbolic link that leaves the
 * directory counts as missing.
 */
export class DirectoryDisk implements Disk {
  readonly visibility: Disk['visibility']
  readonly #root: string
  readonly #drafts: UnfinishedFiles
  readonly #clock: Clock
  #proving: Promise<void> | undefined
  /** Monotonic time of the last test write. */
  #provedAt = Number.NEGATIVE_INFINITY
  readonly #mode: { readonly file: number; readonly directory: number }

  /** @param root absolute path */
  constructor(root: string, visibility: Disk['visibility'], clock: Clock) {
    this.visibility = visibility
    this.#root = root
    this.#clock = clock
    this.#drafts = new UnfinishedFiles(join(root, draftsName), clock)
    // Public files are readable by other users, because another web server may send them.
    this.#mode = visibility === 'public' ? { file: 0o644, directory: 0o755 } : { file: 0o600, directory: 0o700 }
  }

  async write(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#makeDirectory(this.#drafts.directory)
    await this.#drafts.write(content, this.#mode.file, async (draft) => {
      await this.#settle(draft, join(this.#root, path))
    })
  }

  async create(path: string, content: AsyncIterable<Uint8Array>): Promise<boolean> {
    await this.#makeDirectory(this.#drafts.directory)
    let isNew = false
    await this.#drafts.write(content, this.#mode.file, async (draft) => {
      isNew = await this.#settle(draft, join(this.#root, path), link)
      await unlink(draft)
    })
    return isNew
  }

  async open(path: string): Promise<OpenFile | undefined> {
    const held = await this.hold(path)
    if (held === undefined) return undefined
    const { size, modifiedAt } = held
    return { path, size, modifiedAt, content: held.read({ start: 0, end: size - 1 }) }
  }

  async hold(path: string): Promise<StoredFile | undefined> {
    const file = await this.#inside(join(this.#root, path))
    const found = file === undefined ? undefined : await openRegular(file)
    if (found === undefined) return undefined
    const { handle, stat: seen } = found
    return {
      path,
      size: Number(seen.size),
      modifiedAt: seen.mtime,
      // The time alone is too coarse if a file is replaced twice in a short time.
      version: `${seen.ino.toString(16)}-${seen.mtimeNs.toString(16)}`,
      // For an empty range, `end` is less than `start`, which Node.js rejects.
      read: ({ start, end }) => createReadStream('', { fd: handle, start, ...(end < start ? {} : { end }) }),
      close: () => handle.close(),
    }
  }

  async stat(path: string): Promise<FileStat | undefined> {
    const file = await this.#inside(join(this.#root, path))
    const found = file === undefined ? undefined : await orMissing(stat(file))
    return found?.isFile() ? { path, size: found.size, modifiedAt: found.mtime } : undefined
  }

  async delete(path: string): Promise<boolean> {
    const file = join(this.#root, path)
    if ((await this.#inside(dirname(file))) === undefined) return false
    const found = await orMissing(lstat(file))
    if (found === undefined || found.isDirectory()) return false
    // Another process may have deleted the file first.
    const remove = (await this.#keepsDeleted()) ? this.#keep(path) : unlink(file)
    const isDeleted = (await orMissing(remove.then(() => true))) ?? false
    await this.#prune(dirname(file))
    return isDeleted
  }

  async keepDeleted(): Promise<KeptFiles> {
    const directory = join(this.#root, keptName)
    const renew = async () => {
      await this.#makeDirectory(directory)
      // The file is replaced in one step, because other processes read it for each deletion.
      await writeFile(join(directory, 'until.new'), String(this.#clock.now() + keepMs), { mode: 0o600 })
      await rename(join(directory, 'until.new'), join(directory, 'until'))
    }
    await renew()
    const disk = new DirectoryDisk(join(directory, 'files'), 'private', this.#clock)
    return { disk, renew, end: () => rm(directory, { recursive: true, force: true }) }
  }

  async #keepsDeleted(): Promise<boolean> {
    const until = await orMissing(readFile(join(this.#root, keptName, 'until'), 'utf8'))
    return Number(until ?? 0) > this.#clock.now()
  }

  async #keep(path: string): Promise<void> {
    const kept = join(this.#root, keptName, 'files', path)
    await this.#makeDirectory(dirname(kept))
    await rename(join(this.#root, path), kept)
  }

  async *list(directory: string): AsyncIterable<FileStat> {
    const start = await this.#inside(join(this.#root, directory))
    if (start !== undefined) yield* this.#below(directory)
  }

  /** Writes a test file, at most once every few seconds. */
  verify(): Promise<void> {
    this.#proving ??= this.#verify().finally(() => {
      this.#proving = undefined
    })
    return this.#proving
  }

  async #verify(): Promise<void> {
    await this.#makeDirectory(this.#drafts.directory)
    await access(this.#root, constants.R_OK | constants.W_OK)
    await assertFreeSpace(this.#root)
    if (this.#clock.monotonic() - this.#provedAt < proofMs) return
    await this.#drafts.prove()
    this.#provedAt = this.#clock.monotonic()
  }

  /**
   * Checks the directory of the disk without writing. If the directory is missing, checks the one in which it would be
   * created.
   */
  async inspect(): Promise<void> {
    let directory = this.#root
    while ((await orMissing(lstat(directory))) === undefined) directory = dirname(directory)
    await (await opendir(directory)).close()
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    await assertFreeSpace(directory)
  }

  async sweep(signal: AbortSignal): Promise<void> {
    if (!(await this.#keepsDeleted())) await rm(join(this.#root, keptName), { recursive: true, force: true })
    await this.#drafts.sweep(signal)
  }

  async *#below(directory: string): AsyncIterable<FileStat> {
    const entries = await orMissing(readdir(join(this.#root, directory), { withFileTypes: true }))
    for (const entry of entries ?? []) {
      if (entry.name.startsWith('.')) continue
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`
      if (entry.isDirectory()) yield* this.#below(path)
      if (!entry.isFile()) continue
      const found = await this.stat(path)
      if (found !== undefined) yield found
    }
  }

  /**
   * Moves a draft to its path.
   *
   * @param place `link` if an existing file must not be replaced
   * @returns false if `place` is `link` and the file exists
   */
  async #settle(draft: string, file: string, place = rename): Promise<boolean> {
    const directory = dirname(file)
    for (let left = attempts; left > 0; left--) {
      try {
        await this.#makeDirectory(directory)
        await place(draft, file)
        await syncDirectory(directory)
        return true
      } catch (error) {
        const code = errorCodeOf(error)
        if (code === 'ENOENT') continue
        if (code === 'EEXIST' && Object(error).syscall === 'link') return false
        throw code !== undefined && inTheWay.has(code) ? businessError('path-taken') : error
      }
    }
    // If all attempts fail, the path is a symbolic link without a target.
    throw businessError('path-taken')
  }

  /** Creates a directory, unless a symbolic link leads outside of the disk. */
  async #makeDirectory(directory: string): Promise<void> {
    await makePrivateDirectory(dirname(this.#root))
    await mkdir(this.#root, { recursive: true, mode: this.#mode.directory })
    const root = await realpath(this.#root)
    let existing = directory
    let real: string | undefined
    while (real === undefined) {
      real = await orMissing(realpath(existing))
      existing = dirname(existing)
    }
    if (!isWithin(root, real)) throw businessError('path-outside')
    await mkdir(directory, { recursive: true, mode: this.#mode.directory })
  }

  /** Removes empty directories up to the root of the disk. */
  async #prune(directory: string): Promise<void> {
    for (let next = resolve(directory); next !== resolve(this.#root); next = dirname(next)) {
      try {
        await rmdir(next)
      } catch {
        // The directory is not empty, or another process has removed it.
        return
      }
    }
  }

  /** Returns the real path, or undefined if it does not exist or is outside of the disk. */
  async #inside(path: string): Promise<string | undefined> {
    const [root, real] = await Promise.all([orMissing(realpath(this.#root)), orMissing(realpath(path))])
    return root !== undefined && real !== undefined && isWithin(root, real) ? real : undefined
  }
}

async function syncDirectory(directory: string): Promise<void> {
  // Windows cannot sync a directory.
  if (process.platform === 'win32') return
  const handle = await orMissing(open(directory, 'r'))
  try {
    await handle?.sync()
  } finally {
    await handle?.close()
  }
}
