import * as fs from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { errorCodeOf, systemClock } from '@plinth/kernel'
import { decodeEnvFile } from '@plinth/kernel/host'
import { type EnvFileOperations, lockEnvFile } from './env-file-lock.ts'
import {
  assertKeys,
  type EnvChanges,
  EnvFileError,
  type EnvFileResult,
  type EnvFileWarning,
  planEnvFile,
} from './env-file-text.ts'

export {
  type EnvChanges,
  EnvFileError,
  type EnvFileErrorCode,
  type EnvFilePlan,
  type EnvFileResult,
  type EnvFileWarning,
  envFileKeys,
  planEnvFile,
} from './env-file-text.ts'

interface WriteEnvFileOptions {
  /** Names that may be written: those in the example file. */
  readonly allowed: Iterable<string>
  /** Replacements for file and clock functions, for tests. */
  readonly operations?: Partial<EnvFileOperations>
}

const realOperations: EnvFileOperations = { ...fs, now: systemClock.now, sleep: systemClock.sleep }

interface Current {
  readonly bytes: Buffer
  readonly text: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

/**
 * Sets variables in a `.env` file, which only its owner can read. Only one writer works at a time. The file is replaced
 * atomically, unless it is a mount point. A symbolic link is kept, and its target is written. If no value changes, the
 * file is not touched.
 *
 * @param path path of the file, which need not exist; its directory must exist
 * @throws EnvFileError of any code; the file is then unchanged
 */
export async function writeEnvFile(
  path: string,
  changes: EnvChanges,
  { allowed, operations }: WriteEnvFileOptions,
): Promise<EnvFileResult> {
  const files: EnvFileOperations = { ...realOperations, ...operations }
  const file = basename(path)
  const names = new Set(allowed)
  assertKeys(changes)
  for (const key of Object.keys(changes)) if (!names.has(key)) throw new EnvFileError('env-key-not-allowed', { key })
  return reported(file, async () => {
    const target = await followLinks(path, files)
    const plan = planEnvFile((await read(target, file, files))?.text, changes, file)
    const isUnchanged = plan.changed.length + plan.added.length === 0
    if (isUnchanged && (await leftovers(target, files)).length === 0) return resultOf(plan)
    return writeLocked(target, file, changes, files)
  })
}

/**
 * Checks whether the file can be written, without changing it.
 *
 * @throws EnvFileError `env-not-writable`, `env-file-malformed`
 */
export async function inspectEnvFile(path: string): Promise<{ exists: boolean; isReadableByOthers: boolean }> {
  const file = basename(path)
  return reported(file, async () => {
    const target = await followLinks(path, realOperations)
    const current = await read(target, file, realOperations)
    planEnvFile(current?.text, {}, file)
    if (current !== undefined) await fs.access(target, fs.constants.W_OK)
    await fs.access(dirname(target), fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK)
    return { exists: current !== undefined, isReadableByOthers: ((current?.mode ?? 0) & 0o077) !== 0 }
  })
}

/** Converts file system errors to errors without a path. */
async function reported<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const reason = errorCodeOf(error)
    if (error instanceof EnvFileError || reason === undefined) throw error
    throw new EnvFileError('env-not-writable', { file, reason }, error)
  }
}

async function writeLocked(target: string, file: string, changes: EnvChanges, files: EnvFileOperations) {
  const lock = await lockEnvFile(`${target}.lock`, file, files)
  try {
    for (const name of await leftovers(target, files)) await files.rm(join(dirname(target), name), { force: true })
    const before = await read(target, file, files)
    const plan = planEnvFile(before?.text, changes, file)
    if (plan.changed.length + plan.added.length === 0) return resultOf(plan)
    if (before !== undefined) await files.access(target, fs.constants.W_OK)
    const isStill = async () => (await lock.isHeld()) && isSame(before, await read(target, file, files))
    const warnings = await replace(target, file, before, plan.text, { token: lock.token, isStill, files })
    return { ...resultOf(plan), warnings: [...plan.warnings, ...warnings] }
  } finally {
    await lock.release().catch(() => undefined)
  }
}

/** Returns the result without `text`, because `text` contains secrets. */
function resultOf({ changed, added, unchanged, warnings }: EnvFileResult): EnvFileResult {
  return { changed, added, unchanged, warnings }
}

/**
 * Returns the content of the file, or an empty text if it does not exist.
 *
 * @throws EnvFileError `env-not-writable` if it is not a regular file; `env-file-malformed`
 */
export async function readEnvFile(path: string): Promise<string> {
  const file = basename(path)
  return reported(file, async () => {
    const target = await followLinks(path, realOperations)
    return (await read(target, file, realOperations))?.text ?? ''
  })
}

/**
 * Returns the path of the file, or of its target if it is a link, as in containers. A link to a missing file is
 * rejected, because the target could be wrong.
 */
async function followLinks(path: string, files: EnvFileOperations): Promise<string> {
  const start = resolve(path)
  const target = await endOfLinks(start, files)
  if (target === start || (await files.lstat(target).catch(nothingWhenMissing)) !== undefined) return target
  throw new EnvFileError('env-not-writable', {
    file: basename(path),
    reason: 'it is a link to a file that does not exist',
  })
}

async function endOfLinks(path: string, files: EnvFileOperations): Promise<string> {
  let target = path
  for (let links = 0; links < 40; links += 1) {
    const link = await files.readlink(target).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EINVAL' || error.code === 'ENOENT' || error.code === 'UNKNOWN') return undefined
      throw error
    })
    if (link === undefined) return target
    target = resolve(dirname(target), link)
  }
  throw Object.assign(new Error('too many links'), { code: 'ELOOP' })
}

async function read(target: string, file: string, files: EnvFileOperations): Promise<Current | undefined> {
  const found = await files.lstat(target).catch(nothingWhenMissing)
  if (found === undefined) return undefined
  if (!found.isFile()) throw new EnvFileError('env-not-writable', { file, reason: 'it is not a file' })
  const bytes = await files.readFile(target)
  const text = decodeEnvFile(bytes)
  if (typeof text !== 'string') throw new EnvFileError('env-file-malformed', { file, line: String(text.line) })
  return { bytes, text, mode: found.mode & 0o777, uid: found.uid, gid: found.gid }
}

function nothingWhenMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function isSame(left: Current | undefined, right: Current | undefined): boolean {
  return left === undefined || right === undefined ? left === right : left.bytes.equals(right.bytes)
}

async function leftovers(target: string, files: EnvFileOperations): Promise<string[]> {
  const start = `${basename(target)}.`
  const names = await files.readdir(dirname(target))
  return names.filter((name) => name.startsWith(start) && /^[0-9a-f]{16}\.tmp$/.test(name.slice(start.length)))
}

interface Replacing {
  readonly token: string
  /** Returns whether the file has not changed since it was read and this writer still holds the lock. */
  isStill(): Promise<boolean>
  readonly files: EnvFileOperations
}

const octal = (bits: number) => bits.toString(8).padStart(4, '0')

async function replace(
  target: string,
  file: string,
  before: Current | undefined,
  text: string,
  { token, isStill, files }: Replacing,
): Promise<EnvFileWarning[]> {
  const mode = (before?.mode ?? 0o600) & 0o600
  const temporary = `${target}.${token}.tmp`
  const warnings: EnvFileWarning[] = []
  if (before !== undefined && before.mode !== mode) {
    warnings.push({ code: 'env-mode-restricted', params: { file, from: octal(before.mode), to: octal(mode) } })
  }
  try {
    const handle = await files.open(temporary, 'wx', mode)
    try {
      await handle.writeFile(text)
      const made = await handle.stat()
      if (before !== undefined && (made.uid !== before.uid || made.gid !== before.gid)) {
        const isOwned = handle.chown(before.uid, before.gid).then(() => true)
        if (!(await isOwned.catch(() => false))) warnings.push({ code: 'env-owner-changed', params: { file } })
      }
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (!(await isStill())) throw new EnvFileError('env-changed-concurrently', { file })
    try {
      await files.rename(temporary, target)
      await syncDirectory(dirname(target), files)
    } catch (error) {
      const code = errorCodeOf(error)
      // The temporary file is only missing if another writer took over the lock and removed it.
      if (code === 'ENOENT') throw new EnvFileError('env-changed-concurrently', { file }, error)
      if (code !== 'EBUSY' && code !== 'EXDEV') throw error
      // A file that is itself a mount point, as in containers, can be overwritten but not replaced.
      await overwrite(target, text, mode, files)
      warnings.push({ code: 'env-written-in-place', params: { file } })
    }
  } finally {
    await files.rm(temporary, { force: true })
  }
  return warnings
}

async function overwrite(target: string, text: string, mode: number, files: EnvFileOperations): Promise<void> {
  const handle = await files.open(target, 'r+')
  try {
    await handle.writeFile(text)
    await handle.truncate(Buffer.byteLength(text))
    await handle.chmod(mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes the rename survive a power loss, if the operating system supports this. */
async function syncDirectory(directory: string, files: EnvFileOperations): Promise<void> {
  const handle = await files.open(directory, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}
