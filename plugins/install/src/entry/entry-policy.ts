import { AddressSet, type ClientIpRules } from '@plinth/http'
import type { BusinessError } from '@plinth/kernel'
import type { ConfigAdmin } from '@plinth/kernel/host'
import type { EntryReason } from '../contract.ts'
import type { InstallServices } from '../requires.ts'
import type { ClosedByState, InstallState, InstallStateReading } from '../state/install-state.ts'
import { businessError } from '../texts.ts'
import { type Caller, isProductHost } from './caller.ts'
import type { FailedAttempts, InstallToken } from './install-token.ts'

const trustedProxiesKey = 'platform.rate-limit.annotation.client-ip.trusted-proxies'

/**
 * Returns a function that tells whether an address is a proxy that an operator has configured. The default value of the
 * key for trusted proxies does not count, because it trusts whole networks, which also contain browsers.
 */
export function namedProxies(
  { trustedProxies, trustForwardedHeaders }: ClientIpRules,
  { explain }: Pick<ConfigAdmin, 'explain'>,
): (peer: string) => boolean {
  const isNamed = trustForwardedHeaders && explain(trustedProxiesKey)?.effective.source !== 'default'
  const proxies = new AddressSet(trustedProxies)
  return (peer) => isNamed && proxies.has(peer)
}

/** Why the installer is closed to all callers or to this caller. */
export type ClosedReason = 'disabled' | ClosedByState | 'token-missing' | 'token-weak' | ClosedToCaller

type ClosedToCaller = 'network' | 'https' | 'host'
const ofCaller: ReadonlySet<string> = new Set<ClosedToCaller>(['network', 'https', 'host'])

/** True if the reason only concerns this caller, who may be able to fix it and may therefore see it. */
export const concernsOnlyCaller = (closed: ClosedReason): closed is ClosedToCaller => ofCaller.has(closed)

export interface EntryDecision {
  readonly authorized: boolean
  readonly reason: EntryReason
  /** Set if `reason` is `install.token.not-allowed`. */
  readonly closed: ClosedReason | undefined
  readonly state: InstallStateReading
}

type EntryPolicyDependencies = Pick<InstallServices, 'config' | 'site' | 'http' | 'clock'> & {
  readonly state: InstallState
  readonly token: InstallToken
  readonly failures: FailedAttempts
  readonly isNamedProxy: (peer: string) => boolean
}

/**
 * Decides who may install (document 3 of the specification, "Authentication"). Every request is checked, even if an
 * earlier one was accepted.
 */
export class EntryPolicy {
  readonly #parts: EntryPolicyDependencies
  readonly #networks: AddressSet

  constructor(parts: EntryPolicyDependencies) {
    this.#parts = parts
    this.#networks = new AddressSet(parts.config.get('platform.install.allowed-cidrs'))
  }

  get isTokenConfigured(): boolean {
    return this.#parts.token.isConfigured
  }

  /**
   * True if the installer is enabled. The mode `forced` overrides the key `enabled`, but not the lock of an installed
   * product (decision B55).
   */
  get isEnabled(): boolean {
    const { config } = this.#parts
    const mode = config.get('platform.install.mode')
    return mode === 'forced' || (mode === 'auto' && config.get('platform.install.enabled'))
  }

  async isOpen(): Promise<boolean> {
    return this.closedToAll(await this.#parts.state.read()) === undefined
  }

  /** Returns why the installer is closed to all callers, or `undefined` if it is open. */
  closedToAll(seen: InstallStateReading): ClosedReason | undefined {
    if (!this.isEnabled) return 'disabled'
    const { state, token } = this.#parts
    return state.closedBecause(seen) ?? (token.closedBecause && `token-${token.closedBecause}`)
  }

  /** @throws BusinessError "429", reason `install.token.too-many-failures` */
  async check(caller: Caller, given: string | undefined): Promise<EntryDecision> {
    const { token, failures, http, state: installState } = this.#parts
    const state = await installState.read()
    const closed = this.closedToAll(state) ?? this.closedTo(caller)
    const not = (reason: EntryReason) => ({ authorized: false, reason, closed, state })
    if (closed !== undefined) return not('install.token.not-allowed')
    if (!token.isConfigured) return { authorized: true, reason: 'install.token.not-required', closed, state }
    // There is no `await` between reading and updating the counts, so concurrent attempts cannot exceed the limit.
    const attempt = { client: http.networkOf(caller.clientIp), peer: http.networkOf(caller.peerIp) }
    const { ownMs, sharedMs } = failures.waits(attempt)
    if (ownMs > 0) throw tooManyFailures(ownMs)
    const isRight = token.matches(given ?? '')
    // A request without a token does not count as an attempt to guess the token.
    if (!isRight && (given ?? '') !== '') failures.record(attempt, sharedMs > 0 ? 'own' : 'all')
    // A caller with the correct strong token is accepted even if others have used up the shared limit. Otherwise they
    // could lock this caller out. A weak token could be guessed, so its callers must wait, unless they are on this
    // machine.
    if (sharedMs > 0 && !(isRight && (token.isStrong || caller.isLocal))) throw tooManyFailures(sharedMs)
    if (isRight) return { authorized: true, reason: 'install.token.valid', closed, state }
    return not('install.token.invalid')
  }

  /** Returns the time until which a page may store the token. */
  expiresAt(): string {
    const { clock, config } = this.#parts
    return new Date(clock.now() + config.get('platform.install.token-ttl')).toISOString()
  }

  /** Returns why this caller may not use the installer although other callers may. */
  closedTo(caller: Caller): ClosedToCaller | undefined {
    const { config, token, isNamedProxy, site } = this.#parts
    const { clientIp, peerIp, isHttps } = caller
    // A client behind a trusted proxy can claim any address, so the address of the connection must also be allowed.
    const isNear = this.#networks.has(clientIp) && this.#networks.has(peerIp)
    if (config.get('platform.install.cidr-check-enabled') && !isNear) return 'network'
    if (config.get('platform.install.require-https') && !isHttps) return 'https'
    const rules = { siteUrl: site.url, isNamedProxy: isNamedProxy(peerIp) }
    return token.isConfigured || isProductHost(caller, rules) ? undefined : 'host'
  }
}

function tooManyFailures(waitMs: number): BusinessError {
  const seconds = Math.ceil(waitMs / 1000)
  const text = 'entry.too-many-failures'
  return businessError('token.too-many-failures', { text, params: { seconds }, data: { retryAfter: seconds } })
}
