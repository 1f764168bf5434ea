import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock, ConfigAdmin } from '@plinth/kernel'
import type { InstallConfig } from '../config.ts'

const windowMs = 60_000
/** Failures of one caller, and of one connecting peer, within the window. */
const mostOfOne = 5
/** Failures of all callers together. */
const mostOfAll = 50
/** Networks that are remembered; the one that began longest ago goes first. */
const remembered = 10_000

/** Who has tried: networks of addresses, as the product's one function makes them. */
interface Attempt {
  /** Network that the caller claims to come from. */
  readonly client: string
  /** Network of the other end of the connection, which nobody can choose. */
  readonly peer: string
}

/** How long a caller has to wait, by the budgets that are used up. 0: not at all. */
interface Waits {
  /** Of the caller's own failures. */
  readonly ownMs: number
  /** Of what others failed at: through the same peer, or from everywhere. */
  readonly sharedMs: number
}

interface Window {
  readonly startedAt: number
  failures: number
}

/**
 * Counts wrong tokens: by the address that a caller claims, by the peer that it connects from, and over all. Who invents
 * addresses meets the budget of the peer, who has many machines the one of all. It lives in the process: an installation
 * must be closed to guessing also while there is no database to count in.
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
      ownMs: this.#waitMs(this.#clients, client, mostOfOne),
      sharedMs: Math.max(this.#waitMs(this.#peers, peer, mostOfOne), this.#waitMs(this.#all, '', mostOfAll)),
    }
  }

  /** @param budgets `own`: what was refused unseen uses up nothing that others share */
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
const shortestInProduction = 32
const fewestCharacters = 12

/** The configured install token. */
export interface InstallToken {
  readonly isConfigured: boolean
  /** Why the installation must stay closed: production without a token that nobody can guess (decision D62). */
  readonly closedBecause: 'missing' | 'weak' | undefined
  /** Whether nobody can guess it. */
  readonly isStrong: boolean
  /** In constant time, whatever the lengths. */
  matches(given: string): boolean
}

/** Reads the token. In production the environment alone may give it: files and the database travel too easily. */
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

const isStrong = (token: string) => token.length >= shortestInProduction && new Set(token).size >= fewestCharacters
