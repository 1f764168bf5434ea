import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@plinth/kernel'
import type { ConfigAdmin } from '@plinth/kernel/host'
import { LRUCache } from 'lru-cache'
import type { InstallConfig } from '../config.ts'

const windowMs = 60_000
/**
 * Maximum number of failures per window for one client network, and for one network at the other end of the connection.
 */
const maxPerCaller = 5
/** Maximum number of failures per window for all callers together. */
const maxTotal = 50
/** Maximum number of networks in memory. If there are more, the network with the oldest attempt is dropped. */
const remembered = 10_000

/** Networks of an attempt, as returned by `networkOf`. */
interface Attempt {
  /** Network of the claimed client address. */
  readonly client: string
  /** Network of the other end of the connection, which the caller cannot fake. */
  readonly peer: string
}

/** Remaining waiting times of a caller; 0: none. */
interface Waits {
  readonly ownMs: number
  /**
   * Waiting time because of failures of other callers: those with the same network at the other end of the connection,
   * or all callers together.
   */
  readonly sharedMs: number
}

interface Window {
  readonly startedAt: number
  failures: number
}

/**
 * Counts wrong tokens per client network, per peer network and in total. The limit per peer stops callers that invent
 * client addresses. The total limit stops attackers with many machines. The counts are in memory, because they must
 * also work without a database.
 */
export class FailedAttempts {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #clients = new LRUCache<string, Window>({ max: remembered })
  readonly #peers = new LRUCache<string, Window>({ max: remembered })
  readonly #all = new LRUCache<string, Window>({ max: 1 })

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  waits({ client, peer }: Attempt): Waits {
    return {
      ownMs: this.#waitMs(this.#clients, client, maxPerCaller),
      sharedMs: Math.max(this.#waitMs(this.#peers, peer, maxPerCaller), this.#waitMs(this.#all, '', maxTotal)),
    }
  }

  /** @param budgets `own`: the attempt was rejected without a check, so it only counts for the client network */
  record({ client, peer }: Attempt, budgets: 'own' | 'all'): void {
    this.#count(this.#clients, client)
    if (budgets === 'own') return
    this.#count(this.#peers, peer)
    this.#count(this.#all, '')
  }

  #waitMs(windows: LRUCache<string, Window>, key: string, most: number): number {
    const window = this.#current(windows, key)
    if (window === undefined || window.failures < most) return 0
    return Math.max(1, Math.ceil(window.startedAt + windowMs - this.#clock.monotonic()))
  }

  #count(windows: LRUCache<string, Window>, key: string): void {
    const window = this.#current(windows, key)
    if (window === undefined) windows.set(key, { startedAt: this.#clock.monotonic(), failures: 1 })
    else window.failures++
  }

  #current(windows: LRUCache<string, Window>, key: string): Window | undefined {
    const window = windows.get(key)
    if (window === undefined || this.#clock.monotonic() - window.startedAt < windowMs) return window
    windows.delete(key)
    return undefined
  }
}

const tokenKey = 'platform.install.token'
const minProductionLength = 32
const minCharacters = 12

export interface InstallToken {
  readonly isConfigured: boolean
  /** Why the installer stays closed: in production, a token is required that cannot be guessed (decision D62). */
  readonly closedBecause: 'missing' | 'weak' | undefined
  /** True if the token cannot be guessed. */
  readonly isStrong: boolean
  /** Compares in constant time for tokens of any length. */
  matches(given: string): boolean
}

/** Reads the token. In production it must come from the environment, because files and databases are easily copied. */
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
