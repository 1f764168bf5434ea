import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { codeOf } from '@plinth/kernel'

/** System codes for a path that is not a readable file: missing, a symbolic link, a socket. */
const noFile = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'])

/** Windows has neither constant, and no named pipes in its file system. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)

interface RegularFile {
  readonly handle: FileHandle
  /** Describes the open file, also if its path gets another content meanwhile. */
  readonly stat: BigIntStats
}

/**
 * Opens a regular file for reading. Returns undefined for anything else. Opening a named pipe would otherwise wait for
 * a writer and block a thread of the process. The caller closes the handle.
 *
 * @param file absolute path without symbolic links
 */
export async function openRegular(file: string): Promise<RegularFile | undefined> {
  let handle: FileHandle
  try {
    handle = await open(file, flags)
  } catch (error) {
    if (noFile.has(codeOf(error) ?? '')) return undefined
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
