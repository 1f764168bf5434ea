import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { codeOf } from '@plinth/kernel'
import type { EnvFileOperations } from './env-file.ts'
import { EnvFileError } from './env-file-errors.ts'

/** A writer that lives needs milliseconds; one that nobody can ask for is given up after this time. */
const staleAfterMs = 30_000
const waitMs = 5_000
const pollMs = 50

export interface EnvFileLock {
  /** Of this hold alone; hexadecimal. */
  readonly token: string
  /** Whether nobody took the lock over. */
  isHeld(): Promise<boolean>
  release(): Promise<void>
}

interface Holder {
  readonly token: string
  readonly pid: number
  readonly host: string
}

/** Tokens of this process, which tell its own holds from those of a dead process that had the same number. */
const own = new Set<string>()

/**
 * Lets one writer at a time at a file, over all processes that see its directory. A lock whose process has died is taken
 * over at once when that was on this host, else after 30 s.
 *
 * @throws EnvFileError `env-changed-concurrently` when another writer holds on for 5 s; errors of the file system
 */
export async function lockEnvFile(path: string, file: string, files: EnvFileOperations): Promise<EnvFileLock> {
  const holder: Holder = { token: randomBytes(8).toString('hex'), pid: process.pid, host: hostname() }
  const deadline = files.now() + waitMs
  while (!(await take(path, holder, files))) {
    if (await isStale(path, files)) await files.rm(path, { force: true })
    else if (files.now() >= deadline) throw new EnvFileError('env-changed-concurrently', { file })
    else await files.sleep(pollMs)
  }
  own.add(holder.token)
  const isHeld = async () => (await holderOf(path, files))?.token === holder.token
  return {
    token: holder.token,
    isHeld,
    async release() {
      own.delete(holder.token)
      if (await isHeld()) await files.rm(path, { force: true })
    },
  }
}

async function take(path: string, holder: Holder, files: EnvFileOperations): Promise<boolean> {
  try {
    await files.writeFile(path, JSON.stringify(holder), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function isStale(path: string, files: EnvFileOperations): Promise<boolean> {
  const holder = await holderOf(path, files)
  if (holder?.host === hostname() && (holder.pid === process.pid ? !own.has(holder.token) : !isAlive(holder.pid))) {
    return true
  }
  const found = await files.lstat(path).catch(() => undefined)
  return found !== undefined && files.now() - found.mtimeMs > staleAfterMs
}

async function holderOf(path: string, files: EnvFileOperations): Promise<Holder | undefined> {
  try {
    return JSON.parse(await files.readFile(path, 'utf8')) as Holder
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}
