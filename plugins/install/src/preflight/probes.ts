import { randomBytes } from 'node:crypto'
import { access, constants, lstat, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { exactInteger, findMissingTablePermission } from '@plinth/database'
import { errorCodeOf } from '@plinth/kernel'
import { databaseNow } from '@plinth/migrations'
import { envFileKeys, inspectEnvFile } from '../env-file/env-file.ts'
import { readExampleFile } from '../env-file/env-file-text.ts'
import type { Probes, RuntimeInfo } from './context.ts'

/** Probes that examine this process and this machine. */
export const realProbes: Probes = {
  runtime: () => ({
    nodeVersion: process.versions.node,
    charset: charsetOf(process.env, process.platform),
    icu: knownLanguages(),
    heapLimit: getHeapStatistics().heap_size_limit,
    timeZone: new Intl.DateTimeFormat('en').resolvedOptions().timeZone,
    unknownTimeZone: isTimeZone(process.env['TZ']) ? undefined : process.env['TZ'],
  }),
  async directory(path, mayWrite) {
    const found = await nearest(path)
    await access(found, constants.R_OK | constants.W_OK | constants.X_OK)
    if (found !== resolve(path)) return 'creatable'
    if (!(await stat(found)).isDirectory()) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' })
    if (mayWrite) {
      const file = join(found, `.plinth-preflight-${randomBytes(8).toString('hex')}`)
      await writeFile(file, 'may be removed\n', { flag: 'wx', mode: 0o600 }).finally(() => rm(file, { force: true }))
    }
    return 'writable'
  },
  async freeSpace(path) {
    const { bavail, bsize } = await statfs(await nearest(path))
    return bavail * bsize
  },
  envFile: inspectEnvFile,
  async exampleKeys(path) {
    const text = await readExampleFile(path)
    return text === undefined ? undefined : envFileKeys(text)
  },
  async databaseTime(database) {
    const [row] = await database.query<{ now_ms: unknown }>(`select ${databaseNow[database.dialect]} as now_ms`)
    return exactInteger(row?.now_ms)
  },
  async privileges(database) {
    const missing = await findMissingTablePermission((sql) => database.execute(sql))
    return errorCodeOf(missing?.error) === 'PLINTH_DATABASE_READ_ONLY' ? 'read-only' : missing?.right
  },
}

/** Returns the path, or its nearest existing ancestor directory. */
async function nearest(path: string): Promise<string> {
  const expected = resolve(path)
  const found = await lstat(expected).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  return found !== undefined || dirname(expected) === expected ? expected : nearest(dirname(expected))
}

/** Returns the character set of the process locale (decision D19). On Windows, Node.js always uses UTF-8. */
export function charsetOf(environment: Readonly<Record<string, string | undefined>>, platform: string): string {
  if (platform === 'win32') return 'UTF-8'
  const locale = ['LC_ALL', 'LC_CTYPE', 'LANG'].map((name) => environment[name]).find(Boolean) ?? ''
  const charset = /\.([^@]+)/.exec(locale)?.[1] ?? locale
  return /^utf-?8$/i.test(charset) ? 'UTF-8' : charset
}

function knownLanguages(): RuntimeInfo['icu'] {
  if (process.versions['icu'] === undefined) return 'none'
  return Intl.DateTimeFormat.supportedLocalesOf(['zh-CN', 'en']).length === 2 ? 'full' : 'partial'
}

/** Node.js uses UTC for an unknown time zone without an error, so the name is checked here. */
export function isTimeZone(name: string | undefined): boolean {
  if (name === undefined || name === '') return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: name.replace(/^:/, '') })
    return true
  } catch {
    return false
  }
}
