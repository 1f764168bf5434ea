import { hash } from 'node:crypto'
import type { Actor, Identity, Principal } from '@plinth/iam'
import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import type { JWTPayload } from 'jose'
import { algorithms, type ProviderClient, type ProviderClients, providerUnavailable } from './provider-clients.ts'
import { isSecureUrl, issuerKeyOf, type Provider, type Providers } from './providers.ts'
import type { SignIns } from './sign-ins.ts'

interface LogoutDependencies {
  readonly providers: Providers
  readonly clients: ProviderClients
  readonly signIns: SignIns
  readonly identity: Pick<Identity, 'endSessions'>
  readonly store: Pick<SharedStore, 'get' | 'set'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** Maximum age of a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.4 recommends two minutes). */
const maxTokenAge = '2m'
/** Time in milliseconds for which a used token is remembered: longer than any clock tolerance and `maxTokenAge`. */
const rememberedMs = 600_000
const maxTokenLength = 16_384

/** A logout request is not valid. The provider receives the status 400. */
export class InvalidLogoutError extends Error {
  override readonly name = 'InvalidLogoutError'
}

/** Logout at the product, at the provider, or started by the provider. */
export class Logouts {
  readonly #parts: LogoutDependencies

  constructor(parts: LogoutDependencies) {
    this.#parts = parts
  }

  /**
   * Ends the session of the caller. Returns the address at the provider that ends its session too (OpenID Connect
   * RP-Initiated Logout 1.0), or null if there is none.
   */
  async end({ userId, sessionId }: Principal, actor: Actor): Promise<string | null> {
    const { identity, signIns } = this.#parts
    const found = await signIns.findBySession(sessionId)
    await identity.endSessions(userId, [sessionId], actor)
    return found === undefined ? null : this.#endSessionUrl(found.row.provider, found.row.issuerKey, found.idToken)
  }

  async #endSessionUrl(providerId: string, issuerKey: string, idToken: string | undefined): Promise<string | null> {
    const { providers, clients, log } = this.#parts
    const provider = providers.find(providerId)
    if (provider === undefined || issuerKeyOf(provider.issuer) !== issuerKey) return null
    try {
      const { configuration, openid } = await clients.of(provider)
      if (configuration.serverMetadata().end_session_endpoint === undefined) return null
      const url = openid.buildEndSessionUrl(configuration, {
        post_logout_redirect_uri: providers.afterLogoutUri,
        ...(idToken === undefined ? {} : { id_token_hint: idToken }),
      })
      return isSecureUrl(url) ? url.href : null
    } catch (error) {
      // The session of this product has ended, which is what the user asked for.
      log.warn({ provider: providerId, reason: errorReason(error) }, 'no logout at the provider')
      return null
    }
  }

  /**
   * Ends sessions because of a logout token (OpenID Connect Back-Channel Logout 1.0, sections 2.4 to 2.6).
   *
   * @throws InvalidLogoutError; BusinessError "503" `sign-in-oidc.provider-unavailable` if the keys cannot be read
   */
  async endByToken(provider: Provider, token: unknown, actor: Actor): Promise<void> {
    const { sub, sid, jti } = await this.#verified(provider, token)
    const { store, signIns } = this.#parts
    const key = `sign-in-oidc:logout-token:${hash('sha256', `${provider.issuer} ${jti}`)}`
    if ((await store.get(key)) !== undefined) throw new InvalidLogoutError('used twice')
    await signIns.end(provider.issuer, { sid, subject: sub }, actor)
    // Only now is the token used up: if the sessions could not be ended, the provider sends the same token again.
    await store.set(key, '1', rememberedMs)
  }

  /**
   * Ends sessions because a page of the provider loaded an address (OpenID Connect Front-Channel Logout 1.0, section 3).
   * The browser sends no cookies with it, so the session at the provider is the only proof.
   *
   * @throws InvalidLogoutError if the provider does not use it, or the issuer differs
   */
  async endByPage(provider: Provider, { iss, sid }: { readonly iss?: unknown; readonly sid?: unknown }, actor: Actor) {
    const isValid = provider.frontChannelLogout && iss === provider.issuer && typeof sid === 'string' && sid !== ''
    if (!isValid) throw new InvalidLogoutError('not a front-channel logout of this provider')
    await this.#parts.signIns.end(provider.issuer, { sid, subject: undefined }, actor)
  }

  async #verified(provider: Provider, token: unknown) {
    if (typeof token !== 'string' || token.length > maxTokenLength) throw new InvalidLogoutError('no token')
    const client = await this.#parts.clients.of(provider)
    const payload = await this.#payloadOf(provider, token, client)
    const { events, sub, sid, jti, nonce } = payload
    const event = isObject(events) ? events[logoutEvent] : undefined
    if (!isObject(event)) throw new InvalidLogoutError('no logout event')
    if (nonce !== undefined) throw new InvalidLogoutError('a nonce is present')
    if (typeof jti !== 'string' || jti === '') throw new InvalidLogoutError('no jti')
    const sessionOf = typeof sid === 'string' && sid !== '' ? sid : undefined
    const subject = typeof sub === 'string' && sub !== '' ? sub : undefined
    if (sessionOf === undefined && subject === undefined) throw new InvalidLogoutError('neither sub nor sid')
    return { jti, sid: sessionOf, sub: subject }
  }

  async #payloadOf(
    { issuer, clientId: audience, requireLogoutType, clockTolerance }: Provider,
    token: string,
    { jose, logoutKeys }: ProviderClient,
  ): Promise<JWTPayload> {
    const checks = { issuer, audience, algorithms, maxTokenAge, clockTolerance, requiredClaims: ['jti', 'iat', 'exp'] }
    const currentDate = new Date(this.#parts.clock.now())
    const type = requireLogoutType ? { typ: 'logout+jwt' } : {}
    try {
      return (await jose.jwtVerify(token, logoutKeys, { ...checks, ...type, currentDate })).payload
    } catch (error) {
      if (isKeyFailure(error, jose)) throw providerUnavailable(error)
      throw new InvalidLogoutError(errorReason(error), { cause: error })
    }
  }
}

/** Codes of jose for a key set that cannot be read. */
const keyFailures: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT'])

/** True if the keys could not be read, so that nothing is known about the token. */
const isKeyFailure = (error: unknown, { errors }: ProviderClient['jose']) =>
  !(error instanceof errors.JOSEError) || keyFailures.has(error.code)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
