import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../errors/coded-error.ts'

/** The environment that a process declares in `NODE_ENV`. */
export interface NodeEnvironment {
  readonly isProduction: boolean
  /** An unknown value, which is treated as production. */
  readonly unknown: string | undefined
}

const development = new Set(['', 'development', 'dev', 'test', 'testing', 'local', 'ci'])
const production = new Set(['production', 'prod'])

/**
 * Reads `NODE_ENV`. Accepts abbreviations, any case and surrounding blanks. An unknown value counts as production, so
 * that a typing error never opens access that is closed in production.
 */
export function nodeEnvironmentOf(nodeEnvironment: string | undefined): NodeEnvironment {
  const name = (nodeEnvironment ?? '').trim().toLowerCase()
  const isKnown = development.has(name) || production.has(name)
  return { isProduction: !development.has(name), unknown: isKnown ? undefined : name.slice(0, 64) }
}

/** Owner of a lock or a lease. */
export interface ProcessIdentity {
  /** Unique for each owner, even within one process. */
  readonly token: string
  /** Host name, shown to operators. */
  readonly host: string
  /** Equal for processes that can see each other's ids: same boot of the same host, same container. */
  readonly space: string
  readonly pid: number
}

export function processIdentity(): ProcessIdentity {
  return { token: randomUUID(), host: hostname(), space: processSpace(), pid: process.pid }
}

/**
 * Returns the name of a process in lists and rows, at most 128 characters: host, process id and a random part, which
 * differs for each call.
 */
export function instanceName(): string {
  return `${hostname().slice(0, 64)}:${process.pid}:${randomBytes(6).toString('hex')}`
}

/** Returns false only if it is certain that the process does not exist. */
export function mayBeAlive({ space, pid }: Pick<ProcessIdentity, 'space' | 'pid'>): boolean {
  if (space !== processSpace()) return true
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

let known: string | undefined

/** Containers may share a host name without access to each other's processes, so the name alone is not enough. */
function processSpace(): string {
  known ??= createHash('sha256')
    .update(
      [
        hostname(),
        orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
        orEmpty(() => readlinkSync('/proc/self/ns/pid')),
      ].join('|'),
    )
    .digest('hex')
  return known
}

function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
