import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { codeOf } from '@plinth/kernel'

/** What the system says where there is no file to read: nothing, a symbolic link, a socket. */
const noFile = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'])

/** Windows knows neither, and has no named pipes among its files. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)

interface RegularFile {
  readonly handle: FileHandle
  /** Of what the handle reads, whatever takes its place meanwhile. */
  readonly stat: BigIntStats
}

/**
 * Opens a file to be read; `undefined` for whatever is none, such as a named pipe, whose opening would otherwise wait for a
 * writer that never comes and hold a thread of the process. The caller closes the handle.
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
