import { statfs } from 'node:fs/promises'
import { codeOf, isPlinthError, type PlinthError, reasonOf } from '@plinth/kernel'
import { storageError } from './errors.ts'

/**
 * System codes of a full or read-only file system, or of too many open files. Other codes, such as EIO and ESTALE, may
 * concern a single file.
 */
const unusable: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE', 'ENFILE'])

/** System codes of an unusable disk directory, caused by its path or its permissions. */
const misplaced: ReadonlySet<unknown> = new Set(['ENOTDIR', 'EEXIST', 'EACCES', 'EPERM'])

/** Returns `PLINTH_STORAGE_DISK_DIRECTORY` if the directory of the disk is wrong; undefined for other errors. */
export function directoryFailure(disk: string, error: unknown): PlinthError | undefined {
  if (isPlinthError(error) || !misplaced.has(codeOf(error))) return undefined
  return storageError('PLINTH_STORAGE_DISK_DIRECTORY', { disk, reason: reasonOf(error) }, error)
}

/** A disk with fewer free bytes is full. */
const minFreeBytes = 1024 * 1024

/** Returns `PLINTH_STORAGE_DISK_UNAVAILABLE` if the disk cannot be used now; undefined for other errors. */
export function diskOutage(disk: string, error: unknown): PlinthError | undefined {
  if (isPlinthError(error) || !unusable.has(codeOf(error))) return undefined
  return storageError('PLINTH_STORAGE_DISK_UNAVAILABLE', { disk, reason: reasonOf(error) }, error)
}

/**
 * @param directory exists
 * @throws Error with the code `ENOSPC` if the file system has less than 1 MiB or no inode left
 */
export async function assertSpace(directory: string): Promise<void> {
  const { bavail, bsize, files, ffree } = await statfs(directory)
  const free = bavail * bsize
  if (free < minFreeBytes) throw full(`ENOSPC: only ${free} bytes are left on the disk of ${directory}`)
  // File systems without a fixed number of files report 0.
  if (files > 0 && ffree === 0) throw full(`ENOSPC: no inodes are left on the disk of ${directory}`)
}

const full = (message: string) => Object.assign(new Error(message), { code: 'ENOSPC' })
