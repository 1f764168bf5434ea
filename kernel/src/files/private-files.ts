import { chmod, mkdir, stat } from 'node:fs/promises'

const ownerAlone = 0o700
const others = 0o077

/**
 * Creates a directory and its missing parents. Only the owner of the process has access, whatever the umask is.
 * Existing directories do not change, because other programs may use them.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: ownerAlone })
}

/**
 * Removes the access of other users to a file with secrets or personal data. Has no effect on Windows, or if the file
 * does not exist.
 *
 * @returns the former mode, for example `0644`, if it was changed
 * @throws the error of the file system if the mode cannot be changed
 */
export async function makePrivateFile(path: string): Promise<string | undefined> {
  if (process.platform === 'win32') return undefined
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (found === undefined || !found.isFile() || (found.mode & others) === 0) return undefined
  await chmod(path, found.mode & ownerAlone)
  return (found.mode & 0o777).toString(8).padStart(4, '0')
}
