import { AddressSet } from '@plinth/http'
import { BusinessError, type Clock } from '@plinth/kernel'
import type { Caller } from './caller.ts'
import type { InstallConfig } from './config.ts'
import type { EntryReason } from './contract.ts'
import type { FailedAttempts } from './failed-attempts.ts'
import type { InstallToken } from './install-token.ts'
import type { InstallState, Reading } from './state.ts'

/** Why nobody, or not this caller, may enter. */
export type Closed = 'disabled' | 'installed' | 'unknown-state' | 'token-missing' | 'token-weak' | 'network' | 'https'

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

  /** Whether the lock is open. For whoever sits at the server: the other conditions keep out the network. */
  async mayInstall(): Promise<boolean> {
    const { name } = await this.#parts.state.read()
    return name === 'not-installed' || (name === 'installed' && this.#mayReinstall)
  }

  get #mayReinstall(): boolean {
    return this.#parts.config.get('platform.install.allow-reinstall')
  }

  /** Why the installation is closed to everybody. */
  closedToAll({ name }: Reading): Closed | undefined {
    const { token } = this.#parts
    if (!this.isEnabled) return 'disabled'
    if (name === 'unknown') return 'unknown-state'
    if (name === 'installed' && !this.#mayReinstall) return 'installed'
    return token.closedBecause && `token-${token.closedBecause}`
  }

  /** @throws BusinessError "429", reason `install.token.too-many-failures` */
  async check(caller: Caller, given: string | undefined): Promise<Verdict> {
    const { token, failures, state: installState } = this.#parts
    const state = await installState.read()
    const closed = this.closedToAll(state) ?? this.#closedTo(caller)
    const not = (reason: EntryReason) => ({ authorized: false, reason, closed, state })
    if (closed !== undefined) return not('install.token.not-allowed')
    if (!token.isConfigured) return { authorized: true, reason: 'install.token.not-required', closed, state }
    // Counting and comparing happen in one go: attempts at the same time gain nothing.
    const waitMs = failures.waitMs(caller.clientIp)
    if (waitMs > 0) throw tooManyFailures(waitMs)
    if (token.matches(given ?? '')) return { authorized: true, reason: 'install.token.valid', closed, state }
    // A page that asks whether a token is needed guesses nothing.
    if ((given ?? '') !== '') failures.record(caller.clientIp)
    return not('install.token.invalid')
  }

  /** Until when a page should keep the token. */
  expiresAt(): string {
    const { clock, config } = this.#parts
    return new Date(clock.now() + config.get('platform.install.token-ttl')).toISOString()
  }

  #closedTo({ clientIp, isHttps }: Caller): Closed | undefined {
    const { config } = this.#parts
    if (config.get('platform.install.cidr-check-enabled') && !this.#networks.has(clientIp)) return 'network'
    return config.get('platform.install.require-https') && !isHttps ? 'https' : undefined
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
