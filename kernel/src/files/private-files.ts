import { chmod, mkdir, stat } from 'node:fs/promises'

const ownerAlone = 0o700
const others = 0o077

/**
 * Makes a directory, and those above it that are missing, for the owner of the process alone, whatever the umask is. Those
 * that exist stay as they are: they may not be ours.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: ownerAlone })
}

/**
 * Takes the rights of everybody but the owner from a file that holds secrets or data of people. Does nothing on Windows,
 * and where there is no such file.
 *
 * @returns the former rights, for example `0644`, when they were changed
 * @throws what the file system says when they cannot be changed
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
