import { randomBytes } from 'node:crypto'
import type * as fs from 'node:fs/promises'
import { hostname } from 'node:os'
import { type Clock, codeOf } from '@plinth/kernel'
import { EnvFileError } from './env-file-text.ts'

type FileFunctions = 'access' | 'lstat' | 'open' | 'readdir' | 'readFile' | 'readlink' | 'rename' | 'rm'

/** What the writer needs of the outside. */
export interface EnvFileOperations extends Pick<typeof fs, FileFunctions>, Pick<Clock, 'now' | 'sleep'> {}

/** A writer that says nothing for so long, and that nobody can ask for, is given up. */
const staleAfterMs = 30_000
/** So often a holder says that it lives: twice it may be late. */
const renewMs = 10_000
const waitMs = 5_000
const pollMs = 50

interface EnvFileLock {
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
 * Lets one writer at a time at a file, over all processes that see its directory. The holder renews its lock every 10 s as
 * long as it works. A lock whose process has died is taken over at once when that was on this host, else 30 s after it was
 * renewed last.
 *
 * @throws EnvFileError `env-changed-concurrently` when another writer holds on for 5 s; errors of the file system
 */
export async function lockEnvFile(path: string, file: string, files: EnvFileOperations): Promise<EnvFileLock> {
  const holder: Holder = { token: randomBytes(8).toString('hex'), pid: process.pid, host: hostname() }
  // Before the file names it: another writer of this process must not take it for one of the dead.
  own.add(holder.token)
  const handle = await takeInTurn(path, file, holder, files).catch((error: unknown) => {
    own.delete(holder.token)
    throw error
  })
  const stopRenewing = keepRenewing(handle, holder, files)
  const isHeld = async () => (await holderOf(path, files))?.token === holder.token
  return {
    token: holder.token,
    isHeld,
    async release() {
      await stopRenewing()
      try {
        if (await isHeld()) await files.rm(path, { force: true })
      } finally {
        // Not before: another writer would remove the file as one of the dead, and this one then that of the other.
        own.delete(holder.token)
      }
    },
  }
}

/** Takes the lock when it is free, or when its holder is given up. */
async function takeInTurn(
  path: string,
  file: string,
  holder: Holder,
  files: EnvFileOperations,
): Promise<fs.FileHandle> {
  const deadline = files.now() + waitMs
  for (;;) {
    const handle = await take(path, holder, files)
    if (handle !== undefined) return handle
    if (await isStale(path, files)) await files.rm(path, { force: true })
    else if (files.now() >= deadline) throw new EnvFileError('env-changed-concurrently', { file })
    else await files.sleep(pollMs)
  }
}

/** The open lock; absent when another holds it. */
async function take(path: string, holder: Holder, files: EnvFileOperations): Promise<fs.FileHandle | undefined> {
  let handle: fs.FileHandle
  try {
    handle = await files.open(path, 'wx', 0o600)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined
    throw error
  }
  try {
    await sign(handle, holder)
    return handle
  } catch (error) {
    await handle.close()
    await files.rm(path, { force: true })
    throw error
  }
}

/** Writes who holds the lock. Whoever keeps the file sets its time, as for all who look at it. */
async function sign(handle: fs.FileHandle, holder: Holder): Promise<void> {
  await handle.write(JSON.stringify(holder), 0)
  await handle.sync()
}

/**
 * Renews the lock until it is stopped. It writes through the handle that made the file: when another has taken the lock over,
 * that one's file is not touched.
 */
function keepRenewing(handle: fs.FileHandle, holder: Holder, files: EnvFileOperations): () => Promise<void> {
  const ended = new AbortController()
  const renewing = (async () => {
    for (;;) {
      await files.sleep(renewMs, ended.signal)
      if (ended.signal.aborted) return
      // A lock that cannot be renewed is found lost before the file is replaced.
      await sign(handle, holder).catch(() => undefined)
    }
  })()
  return async () => {
    ended.abort()
    await renewing
    await handle.close()
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
    const written: unknown = JSON.parse(await files.readFile(path, 'utf8'))
    return isHolder(written) ? written : undefined
  } catch {
    return undefined
  }
}

const isHolder = (value: unknown): value is Holder =>
  typeof value === 'object' &&
  value !== null &&
  'token' in value &&
  typeof value.token === 'string' &&
  'pid' in value &&
  typeof value.pid === 'number' &&
  'host' in value &&
  typeof value.host === 'string'

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}
