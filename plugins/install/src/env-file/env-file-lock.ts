import { randomBytes } from 'node:crypto'
import type * as fs from 'node:fs/promises'
import { hostname } from 'node:os'
import { type Clock, errorCodeOf } from '@plinth/kernel'
import { EnvFileError } from './env-file-text.ts'

type FileFunctions = 'access' | 'lstat' | 'open' | 'readdir' | 'readFile' | 'readlink' | 'rename' | 'rm'

/** File and clock functions of the writer. Tests replace them. */
export interface EnvFileOperations extends Pick<typeof fs, FileFunctions>, Pick<Clock, 'now' | 'sleep'> {}

/** If the process of a lock cannot be checked, the lock is stale after this time without a renewal. */
const staleAfterMs = 30_000
/** Interval of renewals. Two renewals may fail before the lock is stale. */
const renewMs = 10_000
const waitMs = 5_000
const pollMs = 50

interface EnvFileLock {
  /** Random hexadecimal text that identifies the lock. */
  readonly token: string
  /** Returns false if another writer has taken over the lock. */
  isHeld(): Promise<boolean>
  release(): Promise<void>
}

interface Holder {
  readonly token: string
  readonly pid: number
  readonly host: string
}

/**
 * Tokens of locks that this process holds. They distinguish its locks from those of a dead process with the same
 * process id.
 */
const tokens = new Set<string>()

/**
 * Locks a file for one writer among all processes that can access its directory. The holder renews the lock every 10 s.
 * If the holder ran on this host and has died, the lock is taken over immediately. Otherwise it is taken over 30 s
 * after its last renewal.
 *
 * @throws EnvFileError `env-changed-concurrently` if another writer still holds the lock after 5 s; file system errors
 */
export async function lockEnvFile(path: string, file: string, files: EnvFileOperations): Promise<EnvFileLock> {
  const holder: Holder = { token: randomBytes(8).toString('hex'), pid: process.pid, host: hostname() }
  // The token must be in the set before the file contains it. Otherwise another writer of this process would treat this
  // lock as left by a dead process.
  tokens.add(holder.token)
  const handle = await takeInTurn(path, file, holder, files).catch((error: unknown) => {
    tokens.delete(holder.token)
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
        // The token is deleted last. Otherwise another writer of this process could take over the lock first, and this
        // writer would then remove the new lock.
        tokens.delete(holder.token)
      }
    },
  }
}

/** Waits until the lock is free or stale, then takes it. */
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

/** Creates the lock file. Returns `undefined` if another writer holds the lock. */
async function take(path: string, holder: Holder, files: EnvFileOperations): Promise<fs.FileHandle | undefined> {
  let handle: fs.FileHandle
  try {
    handle = await files.open(path, 'wx', 0o600)
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return undefined
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

/** Writes the holder into the lock file. This sets the modification time, which is the time of the last renewal. */
async function sign(handle: fs.FileHandle, holder: Holder): Promise<void> {
  await handle.write(JSON.stringify(holder), 0)
  await handle.sync()
}

/**
 * Renews the lock until the returned function is called. Writes through the handle that created the file, so that the
 * file of another writer who has taken over the lock is not changed.
 */
function keepRenewing(handle: fs.FileHandle, holder: Holder, files: EnvFileOperations): () => Promise<void> {
  const ended = new AbortController()
  const renewing = (async () => {
    for (;;) {
      await files.sleep(renewMs, ended.signal)
      if (ended.signal.aborted) return
      // Ignores errors: before the `.env` file is replaced, `isHeld` detects a lost lock.
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
  if (holder?.host === hostname() && (holder.pid === process.pid ? !tokens.has(holder.token) : !isAlive(holder.pid))) {
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
    return errorCodeOf(error) === 'EPERM'
  }
}
