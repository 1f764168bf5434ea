import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** What the system says where there is no file to read: nothing, a symbolic link, a socket. */
const noFile = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR'])

/** Windows knows neither, and has no named pipes among its files. */
const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)

/**
 * Opens a file to be read; `undefined` for whatever is none, such as a named pipe, whose opening would otherwise wait for a
 * writer that never comes and hold a thread of the process. The caller closes the handle.
 *
 * @param file absolute path without symbolic links
 */
export async function openRegular(file: string): Promise<FileHandle | undefined> {
  let handle: FileHandle
  try {
    handle = await open(file, flags)
  } catch (error) {
    if (noFile.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  return undefined
}
