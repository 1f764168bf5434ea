import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@plinth/kernel'
import type { ConfigAdmin } from '@plinth/kernel/host'
import type { InstallConfig } from '../config.ts'

const windowMs = 60_000
/** Maximum failures of one caller, and of one peer, per window. */
const maxPerCaller = 5
/** Maximum failures of all callers together, per window. */
const maxTotal = 50
/** Maximum number of stored networks. The one with the oldest window is removed first. */
const remembered = 10_000

/** The networks of an attempt, as `networkOf` returns them. */
interface Attempt {
  /** Network of the address that the caller claims. */
  readonly client: string
  /** Network of the other end of the connection, which the caller cannot choose. */
  readonly peer: string
}

/** Remaining wait of a caller for each exhausted budget. 0 means no wait. */
interface Waits {
  /** Because of the caller's own failures. */
  readonly ownMs: number
  /** Because of failures of others: through the same peer, or in total. */
  readonly sharedMs: number
}

interface Window {
  readonly startedAt: number
  failures: number
}

/**
 * Counts wrong tokens by claimed address, by peer and in total. The budget of the peer limits callers who invent
 * addresses. The total limits attackers with many machines. The counts are in memory, because guessing must also be
 * limited while there is no database.
 */
export class FailedAttempts {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #clients = new Map<string, Window>()
  readonly #peers = new Map<string, Window>()
  readonly #all = new Map<string, Window>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  waits({ client, peer }: Attempt): Waits {
    return {
      ownMs: this.#waitMs(this.#clients, client, maxPerCaller),
      sharedMs: Math.max(this.#waitMs(this.#peers, peer, maxPerCaller), this.#waitMs(this.#all, '', maxTotal)),
    }
  }

  /** @param budgets `own` if the attempt was rejected without a check: it does not use the shared budgets */
  record({ client, peer }: Attempt, budgets: 'own' | 'all'): void {
    this.#count(this.#clients, client)
    if (budgets === 'own') return
    this.#count(this.#peers, peer)
    this.#count(this.#all, '')
  }

  #waitMs(windows: Map<string, Window>, key: string, most: number): number {
    const window = this.#current(windows, key)
    if (window === undefined || window.failures < most) return 0
    return Math.max(1, Math.ceil(window.startedAt + windowMs - this.#clock.monotonic()))
  }

  #count(windows: Map<string, Window>, key: string): void {
    const window = this.#current(windows, key)
    if (window !== undefined) {
      window.failures++
      return
    }
    if (windows.size >= remembered) windows.delete(windows.keys().next().value ?? '')
    windows.set(key, { startedAt: this.#clock.monotonic(), failures: 1 })
  }

  #current(windows: Map<string, Window>, key: string): Window | undefined {
    const window = windows.get(key)
    if (window === undefined || this.#clock.monotonic() - window.startedAt < windowMs) return window
    windows.delete(key)
    return undefined
  }
}

const tokenKey = 'platform.install.token'
const minProductionLength = 32
const minCharacters = 12

/** The configured install token. */
export interface InstallToken {
  readonly isConfigured: boolean
  /** Why the installation must stay closed: production requires a token that cannot be guessed (decision D62). */
  readonly closedBecause: 'missing' | 'weak' | undefined
  /** True if the token cannot be guessed. */
  readonly isStrong: boolean
  /** Compares in constant time, for any length. */
  matches(given: string): boolean
}

/**
 * Reads the token. In production, only the environment may set it, because files and the database are copied too
 * easily.
 */
export function installToken(
  config: InstallConfig,
  { explain }: Pick<ConfigAdmin, 'explain'>,
  { isProduction }: { readonly isProduction: boolean },
): InstallToken {
  const isFromEnvironment = explain(tokenKey)?.effective.source === 'environment'
  const token = isProduction && !isFromEnvironment ? '' : config.get(tokenKey).trim()
  const digest = digestOf(token)
  return {
    isConfigured: token !== '',
    isStrong: isStrong(token),
    closedBecause: !isProduction ? undefined : token === '' ? 'missing' : isStrong(token) ? undefined : 'weak',
    matches: (given) => token !== '' && timingSafeEqual(digestOf(given), digest),
  }
}

const digestOf = (text: string) => createHash('sha256').update(text).digest()

const isStrong = (token: string) => token.length >= minProductionLength && new Set(token).size >= minCharacters
