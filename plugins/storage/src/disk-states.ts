import { statfs } from 'node:fs/promises'
import { codeOf, isPlinthError, type PlinthError, reasonOf } from '@plinth/kernel'
import { storageError } from './errors.ts'

/**
 * Codes of the system while a file system is full or read-only, or too many files are open. Other codes, such as EIO and
 * ESTALE, may be about one file.
 */
const unusable: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE', 'ENFILE'])

/** Codes of the system while the directory of a disk cannot be used, because of its path or its rights. */
const misplaced: ReadonlySet<unknown> = new Set(['ENOTDIR', 'EEXIST', 'EACCES', 'EPERM'])

/** `PLINTH_STORAGE_DISK_DIRECTORY` for an error that says that the directory is wrong; `undefined` for any other. */
export function directoryFailure(disk: string, error: unknown): PlinthError | undefined {
  if (isPlinthError(error) || !misplaced.has(codeOf(error))) return undefined
  return storageError('PLINTH_STORAGE_DISK_DIRECTORY', { disk, reason: reasonOf(error) }, error)
}

/** Free bytes below which a disk counts as full. */
const minFreeBytes = 1024 * 1024

/** `PLINTH_STORAGE_DISK_UNAVAILABLE` for an error that says that the disk cannot be used now; `undefined` for any other. */
export function diskOutage(disk: string, error: unknown): PlinthError | undefined {
  if (isPlinthError(error) || !unusable.has(codeOf(error))) return undefined
  return storageError('PLINTH_STORAGE_DISK_UNAVAILABLE', { disk, reason: reasonOf(error) }, error)
}

/**
 * @param directory exists
 * @throws Error with the code `ENOSPC` when the file system has hardly any space left, or no room for another file
 */
export async function assertSpace(directory: string): Promise<void> {
  const { bavail, bsize, files, ffree } = await statfs(directory)
  const free = bavail * bsize
  if (free < minFreeBytes) throw full(`ENOSPC: only ${free} bytes are left on the disk of ${directory}`)
  // File systems without a fixed number of files report 0.
  if (files > 0 && ffree === 0) throw full(`ENOSPC: no inodes are left on the disk of ${directory}`)
}

const full = (message: string) => Object.assign(new Error(message), { code: 'ENOSPC' })
