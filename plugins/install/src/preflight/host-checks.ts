import { satisfies } from 'semver'
import { EnvFileError } from '../env-file/env-file.ts'
import { type CheckCode, type CheckFinding, type PreflightItem, preflightItem } from './catalogue.ts'
import { type CheckContext, fileErrorCode, utcText } from './context.ts'

const mebibyte = 2 ** 20
/** Minimum heap size in bytes. With less heap, some plugins cannot start. */
const minHeap = 128 * mebibyte
const usualHeap = 256 * mebibyte
/** If the clock is outside this range, sessions, certificates and signatures fail. */
const sensibleTime = { from: Date.UTC(2025, 0, 1), to: Date.UTC(2100, 0, 1) }

/** Checks the Node.js version, the character set, the heap size and the clock (decision D19). */
export async function runtimeChecks({ probes, nodeRange, clock }: CheckContext): Promise<PreflightItem[]> {
  const { nodeVersion, charset, icu, heapLimit, timeZone, unknownTimeZone } = probes.runtime()
  const isSupported = satisfies(nodeVersion, nodeRange, { includePrerelease: true })
  const now = clock.now()
  return [
    preflightItem('node-version', isSupported ? 'passed' : 'unsupported', { version: nodeVersion, range: nodeRange }),
    preflightItem('charset', charset === 'UTF-8' ? 'passed' : charset === '' ? 'unset' : 'other', { charset }),
    preflightItem('icu', icu === 'full' ? 'passed' : icu),
    preflightItem('heap-limit', sizeFinding(heapLimit, minHeap, usualHeap), {
      size: Math.floor(heapLimit / mebibyte),
      least: minHeap / mebibyte,
      usual: usualHeap / mebibyte,
    }),
    preflightItem('clock', now >= sensibleTime.from && now < sensibleTime.to ? 'passed' : 'wrong', {
      time: utcText(now),
    }),
    unknownTimeZone === undefined
      ? preflightItem('time-zone', 'passed', { zone: timeZone })
      : preflightItem('time-zone', 'unknown', { zone: unknownTimeZone, used: timeZone }),
  ]
}

type SizeCode = Extract<CheckCode, 'heap-limit' | 'disk-space'>

function sizeFinding(
  size: number,
  least: number,
  usual: number,
): Extract<CheckFinding<SizeCode>, 'passed' | 'low' | 'too-low'> {
  return size < least ? 'too-low' : size < usual ? 'low' : 'passed'
}

const minSpace = 100 * mebibyte
const usualSpace = 1024 * mebibyte

/** Directories in which the product creates files. */
const written = ['storage', 'public', 'log'] as const
/** Error codes of a directory that this user cannot write. */
const readOnly = ['EACCES', 'EPERM', 'EROFS']

/** Checks the run, storage, public and log directories, the free space, and the settings file. */
export async function fileChecks(context: CheckContext): Promise<PreflightItem[]> {
  const directories = written.map((role) => directoryCheck(context, role))
  const others = [spaceCheck(context), envFileCheck(context), exampleCheck(context)]
  return (await Promise.all([runDirectoryCheck(context), ...directories, ...others])).flat()
}

/** The product does not write to its own directory, so the directory may be read-only (decision G11). */
async function runDirectoryCheck({ directories, probes, within }: CheckContext) {
  const { run } = directories
  if (run === undefined) return []
  try {
    await within(() => probes.directory(run, false))
    return [preflightItem('directory-run', 'passed')]
  } catch (error) {
    const reason = fileErrorCode(error)
    return [preflightItem('directory-run', readOnly.includes(reason) ? 'read-only' : 'unusable', { reason })]
  }
}

type WrittenRole = (typeof written)[number]

async function directoryCheck({ directories, probes, mayWrite, within }: CheckContext, role: WrittenRole) {
  const path = directories[role]
  if (path === undefined) return []
  try {
    const state = await within(() => probes.directory(path, mayWrite))
    return [preflightItem(`directory-${role}`, state === 'writable' ? 'passed' : 'creatable')]
  } catch (error) {
    return [preflightItem(`directory-${role}`, 'unwritable', { reason: fileErrorCode(error) })]
  }
}

async function spaceCheck({ directories, probes, within }: CheckContext) {
  const path = directories.storage ?? directories.run
  if (path === undefined) return []
  try {
    const free = await within(() => probes.freeSpace(path))
    const sizes = { free, least: minSpace, usual: usualSpace }
    const params = Object.fromEntries(
      Object.entries(sizes).map(([name, bytes]) => [name, Math.floor(bytes / mebibyte)]),
    )
    return [preflightItem('disk-space', sizeFinding(free, minSpace, usualSpace), params)]
  } catch (error) {
    return [preflightItem('disk-space', 'unknown', { reason: fileErrorCode(error) })]
  }
}

async function envFileCheck({ envFile, probes, within }: CheckContext) {
  try {
    const { exists, isReadableByOthers } = await within(() => probes.envFile(envFile.path))
    return [preflightItem('env-file', !exists ? 'creatable' : isReadableByOthers ? 'readable' : 'passed')]
  } catch (error) {
    if (error instanceof EnvFileError && error.code === 'env-file-malformed') {
      return [preflightItem('env-file', 'malformed', { line: error.params['line'] ?? '' })]
    }
    const reason = error instanceof EnvFileError ? error.params['reason'] : fileErrorCode(error)
    return [preflightItem('env-file', 'unwritable', { reason: reason ?? fileErrorCode(error) })]
  }
}

/** Only variables in the example file are written. Without the file, passwords could not be stored (decision D54). */
async function exampleCheck({ envFile, probes, within }: CheckContext) {
  const keys = await within(() => probes.exampleKeys(envFile.examplePath)).catch(() => undefined)
  if (keys === undefined) return [preflightItem('env-example', 'missing')]
  const lacking = envFile.needed.filter((key) => !keys.includes(key))
  return [preflightItem('env-example', lacking.length === 0 ? 'passed' : 'incomplete', { keys: lacking.join(', ') })]
}
