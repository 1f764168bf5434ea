import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { errorCodeOf } from '../errors/coded-error.ts'

/** The environment that the variable `NODE_ENV` declares. */
export interface NodeEnvironment {
  readonly isProduction: boolean
  /** The value of `NODE_ENV` if it is unknown. It is treated as production. */
  readonly unknown: string | undefined
}

const development = new Set(['', 'development', 'dev', 'test', 'testing', 'local', 'ci'])
const production = new Set(['production', 'prod'])

/**
 * Interprets the value of `NODE_ENV`. Accepts abbreviations, any case and surrounding blanks. An unknown value is
 * treated as production, so that a typing error never relaxes security.
 */
export function nodeEnvironmentOf(nodeEnvironment: string | undefined): NodeEnvironment {
  const name = (nodeEnvironment ?? '').trim().toLowerCase()
  const isKnown = development.has(name) || production.has(name)
  return { isProduction: !development.has(name), unknown: isKnown ? undefined : name.slice(0, 64) }
}

/** Identifies the owner of a lock or a lease. */
export interface ProcessIdentity {
  /** Unique for each owner, even within one process. */
  readonly token: string
  /** Name of the host, shown to operators. */
  readonly host: string
  /**
   * Equal for processes that can check each other's process ids: on the same host since its last boot, and in the same
   * container.
   */
  readonly space: string
  readonly pid: number
}

export function processIdentity(): ProcessIdentity {
  return { token: randomUUID(), host: hostname(), space: processSpace(), pid: process.pid }
}

/** Returns a unique name for an instance of at most 128 characters: host, process id and a random part. */
export function instanceName(): string {
  return `${hostname().slice(0, 64)}:${process.pid}:${randomBytes(6).toString('hex')}`
}

/** Returns true unless it is certain that the process has ended. */
export function mayProcessBeAlive({ space, pid }: Pick<ProcessIdentity, 'space' | 'pid'>): boolean {
  if (space !== processSpace()) return true
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCodeOf(error) !== 'ESRCH'
  }
}

let known: string | undefined

/**
 * Returns a fingerprint of the group of processes that can check each other's ids. The host name alone is not enough,
 * because containers with the same host name cannot see each other's processes.
 */
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
