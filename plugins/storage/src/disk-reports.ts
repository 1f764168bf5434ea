import { statfs } from 'node:fs/promises'
import { type Clock, errorCodeOf, errorReason, isPlinthError, type PlinthError, withinDeadline } from '@plinth/kernel'
import { type Disk, type DiskInfo, isDiskUnavailable, type Storage } from './contract.ts'
import { storageError } from './declarations.ts'

/**
 * System codes for a full or read-only file system, and for too many open files. Other codes, such as EIO and ESTALE,
 * may concern a single file.
 */
const unusable: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE', 'ENFILE'])

/** System codes for a wrong path or wrong permissions of the directory. */
const misplaced: ReadonlySet<unknown> = new Set(['ENOTDIR', 'EEXIST', 'EACCES', 'EPERM'])

/** Returns `PLINTH_STORAGE_DISK_DIRECTORY` if the directory of the disk is wrong, undefined for other errors. */
export function directoryErrorOf(disk: string, error: unknown): PlinthError | undefined {
  if (isPlinthError(error) || !misplaced.has(errorCodeOf(error))) return undefined
  return storageError('PLINTH_STORAGE_DISK_DIRECTORY', { disk, reason: errorReason(error) }, error)
}

/** A disk with fewer free bytes counts as full. */
const minFreeBytes = 1024 * 1024

/** Returns `PLINTH_STORAGE_DISK_UNAVAILABLE` if the disk cannot be used now, undefined for other errors. */
export function diskErrorOf(disk: string, error: unknown): PlinthError | undefined {
  if (isPlinthError(error) || !(unusable.has(errorCodeOf(error)) || isDiskUnavailable(error))) return undefined
  return storageError('PLINTH_STORAGE_DISK_UNAVAILABLE', { disk, reason: errorReason(error) }, error)
}

/**
 * @param directory an existing directory
 * @throws Error with the code `ENOSPC` if less than 1 MiB or no inode is free
 */
export async function assertFreeSpace(directory: string): Promise<void> {
  const { bavail, bsize, files, ffree } = await statfs(directory)
  const free = bavail * bsize
  if (free < minFreeBytes) throw full(`ENOSPC: only ${free} bytes are left on the disk of ${directory}`)
  // File systems without a fixed number of inodes report 0.
  if (files > 0 && ffree === 0) throw full(`ENOSPC: no inodes are left on the disk of ${directory}`)
}

const full = (message: string) => Object.assign(new Error(message), { code: 'ENOSPC' })

/** State of a disk. `disabled`: by configuration. `failing`: the check failed or timed out. */
export const diskStates = ['ready', 'failing', 'disabled'] as const

export interface DiskReport extends DiskInfo {
  readonly state: (typeof diskStates)[number]
  /** Error code such as `ENOSPC`. If the error has no code, only the log contains the reason. */
  readonly fault: string | null
}

interface DiskUsage {
  readonly files: number
  /** Total size of the counted files in bytes. */
  readonly bytes: number
  readonly newestAt: Date | null
  /** False if the disk has more files than `maxCounted`, or could not be listed in time. */
  readonly complete: boolean
}

/** Maximum number of counted files, so that a report on a large disk stays cheap. */
export const maxCounted = 10_000
/** Time limit in milliseconds for checking or counting a disk. */
const checkTimeoutMs = 5_000

interface DiskReportDependencies {
  readonly storage: Pick<Storage, 'disks' | 'list'>
  readonly disks: ReadonlyMap<string, Pick<Disk, 'verify'>>
  readonly clock: Clock
}

export class DiskReports {
  readonly #parts: DiskReportDependencies

  constructor(parts: DiskReportDependencies) {
    this.#parts = parts
  }

  all(): Promise<readonly DiskReport[]> {
    return Promise.all(this.#parts.storage.disks().map((disk) => this.#report(disk)))
  }

  /** Returns undefined if the disk does not exist. */
  async one(name: string): Promise<DiskReport | undefined> {
    const disk = this.#parts.storage.disks().find((known) => known.name === name)
    return disk && (await this.#report(disk))
  }

  /** Counts the files of a disk, unless it is not ready. */
  async usage({ name, state }: Pick<DiskReport, 'name' | 'state'>): Promise<DiskUsage> {
    const usage: { -readonly [K in keyof DiskUsage]: DiskUsage[K] } = {
      files: 0,
      bytes: 0,
      newestAt: null,
      complete: false,
    }
    if (state !== 'ready') return usage
    try {
      await this.#inTime(async (signal) => {
        for await (const { size, modifiedAt } of this.#parts.storage.list(name)) {
          if (signal.aborted || usage.files === maxCounted) return
          usage.files += 1
          usage.bytes += size
          if (usage.newestAt === null || modifiedAt > usage.newestAt) usage.newestAt = modifiedAt
        }
        usage.complete = true
      })
    } catch {
      // The partial count is returned. `complete` stays false.
    }
    return { ...usage }
  }

  async #report(disk: DiskInfo): Promise<DiskReport> {
    if (!disk.enabled) return { ...disk, state: 'disabled', fault: null }
    try {
      await this.#inTime(async (signal) => this.#parts.disks.get(disk.name)?.verify(signal))
      return { ...disk, state: 'ready', fault: null }
    } catch (error) {
      return { ...disk, state: 'failing', fault: errorCodeOf(error) ?? null }
    }
  }

  #inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = () => Object.assign(new Error('The disk does not respond.'), { code: 'ETIMEDOUT' })
    return withinDeadline(this.#parts.clock, checkTimeoutMs, work, late)
  }
}
