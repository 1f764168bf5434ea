import { AddressSet, type Site } from '@plinth/http'
import { BusinessError, type Clock } from '@plinth/kernel'
import { isOwnHost } from './called-host.ts'
import type { Caller } from './caller.ts'
import type { InstallConfig } from './config.ts'
import type { EntryReason } from './contract.ts'
import type { FailedAttempts } from './failed-attempts.ts'
import type { InstallToken } from './install-token.ts'
import type { Doubt, InstallState, Reading } from './state.ts'

/** Why nobody, or not this caller, may enter. */
export type Closed = 'disabled' | ClosedByState | 'token-missing' | 'token-weak' | ClosedToCaller

/** Why not this caller, whoever else may. */
export type ClosedToCaller = 'network' | 'https' | 'host'
const ofCaller: ReadonlySet<string> = new Set<ClosedToCaller>(['network', 'https', 'host'])

/** Whether the caller can do something about it, and so may know. */
export const isOfCaller = (closed: Closed): closed is ClosedToCaller => ofCaller.has(closed)

/** What the lock says: installed, or nobody can tell. */
export type ClosedByState = 'installed' | `state-${Doubt}`

export interface Verdict {
  readonly authorized: boolean
  readonly reason: EntryReason
  /** Set with the reason `install.token.not-allowed`. */
  readonly closed: Closed | undefined
  readonly state: Reading
}

export interface EntryParts {
  readonly config: InstallConfig
  readonly state: InstallState
  readonly token: InstallToken
  readonly failures: FailedAttempts
  readonly site: Pick<Site, 'url'>
  /** The product's one answer to which addresses are one caller. */
  readonly networkOf: (address: string) => string
  /** Whether an operator has named the trusted proxies, and the address is one of them. */
  readonly isNamedProxy: (peer: string) => boolean
  readonly clock: Pick<Clock, 'now'>
}

/** Decides who may install (document 3, "Authentication"). Asked anew by every call: no step trusts an earlier one. */
export class EntryCheck {
  readonly #parts: EntryParts
  readonly #networks: AddressSet

  constructor(parts: EntryParts) {
    this.#parts = parts
    this.#networks = new AddressSet(parts.config.get('platform.install.allowed-cidrs'))
  }

  get isTokenConfigured(): boolean {
    return this.#parts.token.isConfigured
  }

  /** Whether the flow is switched on. `forced` overrules the switch, never the lock (decision B55). */
  get isEnabled(): boolean {
    const { config } = this.#parts
    const mode = config.get('platform.install.mode')
    return mode === 'forced' || (mode === 'auto' && config.get('platform.install.enabled'))
  }

  /** What the lock says. For whoever sits at the server: the other conditions keep out the network. */
  async closedByState(): Promise<ClosedByState | undefined> {
    return this.#closedBy(await this.#parts.state.read())
  }

  #closedBy({ name, doubt }: Reading): ClosedByState | undefined {
    if (name === 'unknown') return `state-${doubt ?? 'unreadable'}`
    return name === 'installed' && !this.#mayReinstall ? 'installed' : undefined
  }

  get #mayReinstall(): boolean {
    return this.#parts.config.get('platform.install.allow-reinstall')
  }

  /** Why the installation is closed to everybody. */
  closedToAll(state: Reading): Closed | undefined {
    if (!this.isEnabled) return 'disabled'
    const { closedBecause } = this.#parts.token
    return this.#closedBy(state) ?? (closedBecause && `token-${closedBecause}`)
  }

  /** @throws BusinessError "429", reason `install.token.too-many-failures` */
  async check(caller: Caller, given: string | undefined): Promise<Verdict> {
    const { token, failures, networkOf, state: installState } = this.#parts
    const state = await installState.read()
    const closed = this.closedToAll(state) ?? this.closedTo(caller)
    const not = (reason: EntryReason) => ({ authorized: false, reason, closed, state })
    if (closed !== undefined) return not('install.token.not-allowed')
    if (!token.isConfigured) return { authorized: true, reason: 'install.token.not-required', closed, state }
    // Counting and comparing happen in one go: attempts at the same time gain nothing.
    const attempt = { client: networkOf(caller.clientIp), peer: networkOf(caller.peerIp) }
    const { ownMs, sharedMs } = failures.waits(attempt)
    if (ownMs > 0) throw tooManyFailures(ownMs)
    const isRight = token.matches(given ?? '')
    // A page that asks whether a token is needed guesses nothing.
    if (!isRight && (given ?? '') !== '') failures.record(attempt, sharedMs > 0 ? 'own' : 'all')
    // Others must not be able to lock out who knows the token, for ever if they like. Where it cannot be guessed, it
    // always counts; where it might be, only somebody at the machine itself is not held up.
    if (sharedMs > 0 && !(isRight && (token.isStrong || caller.isLocal))) throw tooManyFailures(sharedMs)
    if (isRight) return { authorized: true, reason: 'install.token.valid', closed, state }
    return not('install.token.invalid')
  }

  /** Until when a page should keep the token. */
  expiresAt(): string {
    const { clock, config } = this.#parts
    return new Date(clock.now() + config.get('platform.install.token-ttl')).toISOString()
  }

  /** Why this caller may not enter, although others may. */
  closedTo(caller: Caller): ClosedToCaller | undefined {
    const { config, token, isNamedProxy, site } = this.#parts
    const { clientIp, peerIp, isHttps } = caller
    // Anybody behind a trusted proxy may claim any address: the connection itself must come from an allowed one too.
    const isNear = this.#networks.has(clientIp) && this.#networks.has(peerIp)
    if (config.get('platform.install.cidr-check-enabled') && !isNear) return 'network'
    if (config.get('platform.install.require-https') && !isHttps) return 'https'
    const rules = { siteUrl: site.url, isNamedProxy: isNamedProxy(peerIp) }
    return token.isConfigured || isOwnHost(caller, rules) ? undefined : 'host'
  }
}

function tooManyFailures(waitMs: number): BusinessError {
  const seconds = Math.ceil(waitMs / 1000)
  return new BusinessError('429', `Too many wrong tokens. Try again in ${seconds} seconds.`, {
    reason: 'install.token.too-many-failures',
    messageKey: 'messages.install.entry.too-many-failures',
    params: { seconds },
    data: { retryAfterSeconds: seconds },
  })
}
