import type { Clock, Logger } from '@plinth/kernel'
import { isOutgoingHttpError } from '@plinth/outgoing-http'
import type { AuthorizationResponseError, ResponseBodyError } from 'openid-client'
import { type Claims, claimAt, type EmailClaim, emailOf } from './claims.ts'
import {
  algorithms,
  type ProviderClient,
  type ProviderClients,
  providerUnavailable,
  reasonOf,
} from './provider-clients.ts'
import { isSecureUrl, type Provider, type Providers } from './providers.ts'
import type { Purpose, Transaction } from './transactions.ts'

/** A proven login of a user at a provider. */
export interface ProviderLogin {
  /** Claim `sub`: 1 to 255 printable ASCII characters (OpenID Connect Core 1.0, section 2). */
  readonly subject: string
  /** Claims of the validated ID token, and those of the user info that the ID token lacks. */
  readonly claims: Claims
  readonly email: EmailClaim | undefined
  /** Claim `hd` of the ID token. */
  readonly hostedDomain: unknown
  readonly idToken: string
  readonly sid: string | undefined
  /**
   * True if the user entered a password or used a factor at the provider after the transaction began. Always false if the
   * provider cannot ask for a new login, whatever time it states.
   */
  readonly isFresh: boolean
  /** True if `amr` or `acr` has a value that the provider entry trusts. */
  readonly hasSecondFactor: boolean
}

/** The response of a provider is not valid. Only the audit contains the reason. */
export class RejectedResponseError extends Error {
  override readonly name = 'RejectedResponseError'
  readonly reason: string

  constructor(reason: string, cause?: unknown) {
    super(reason, { cause })
    this.reason = reason
  }
}

interface LoginDependencies {
  readonly clients: Pick<ProviderClients, 'of' | 'drop'>
  readonly providers: Pick<Providers, 'redirectUriOf'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/** Subjects are compared byte for byte, so texts that a database could treat as equal are rejected. */
const subjectForm = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/

/** Authorization code flow with PKCE (RFC 6749, RFC 7636, RFC 9700, OpenID Connect Core 1.0). */
export class ProviderLogins {
  readonly #parts: LoginDependencies

  constructor(parts: LoginDependencies) {
    this.#parts = parts
  }

  /**
   * Returns the address at the provider to which the browser goes.
   *
   * @throws BusinessError "503" `sign-in-oidc.provider-unavailable`
   */
  async urlFor(
    provider: Provider,
    purpose: Purpose,
    { state, nonce, verifier }: { readonly state: string; readonly nonce: string; readonly verifier: string },
  ): Promise<string> {
    const { configuration, openid } = await this.#parts.clients.of(provider)
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#parts.providers.redirectUriOf(provider.id),
      scope: ['openid', ...provider.scopes.filter((scope) => scope !== 'openid')].join(' '),
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      ...(purpose === 'proof' ? { max_age: '0', prompt: 'login' } : {}),
    })
    if (!isSecureUrl(url)) throw providerUnavailable(new Error('the authorization endpoint has no secure address'))
    return url.href
  }

  /**
   * Exchanges the code of a callback, and validates the ID token.
   *
   * @param parameters query string of the callback
   * @param neededClaims claims for which the user info is read if the ID token lacks them
   * @throws RejectedResponseError; BusinessError "503" `sign-in-oidc.provider-unavailable`
   */
  async exchange(
    provider: Provider,
    transaction: Transaction,
    parameters: string,
    { purpose, neededClaims }: { readonly purpose: Purpose; readonly neededClaims: readonly string[] },
  ): Promise<ProviderLogin> {
    const { clients, providers, clock } = this.#parts
    const client = await clients.of(provider)
    const url = new URL(providers.redirectUriOf(provider.id))
    url.search = parameters
    const { state: expectedState, nonce: expectedNonce, verifier: pkceCodeVerifier, startedAt } = transaction
    const checks = { expectedState, expectedNonce, pkceCodeVerifier, idTokenExpected: true }
    // The login must be later than the start of the transaction.
    const maxAge = Math.ceil((clock.now() - startedAt) / 1000)
    try {
      const tokens = await client.openid.authorizationCodeGrant(
        client.configuration,
        url,
        purpose === 'proof' ? { ...checks, maxAge } : checks,
      )
      const claims = tokens.claims()
      if (claims === undefined || tokens.id_token === undefined) throw new RejectedResponseError('id-token-missing')
      this.#assertValid(provider, client.jose.decodeProtectedHeader(tokens.id_token).alg, claims)
      const info = await this.#userInfo(client, tokens.access_token, claims, neededClaims)
      return {
        ...this.#factsOf(provider, claims, startedAt),
        // The address and its confirmation come from the same source.
        email: emailOf(claims) ?? emailOf(info),
        claims: { ...info, ...claims },
        idToken: tokens.id_token,
      }
    } catch (error) {
      throw this.#failureOf(provider, error)
    }
  }

  /** Checks that openid-client leaves to its caller. */
  #assertValid({ clockTolerance }: Provider, alg = '', claims: Claims): void {
    if (!algorithms.includes(alg)) throw new RejectedResponseError('algorithm-not-allowed')
    if (typeof claims['sub'] !== 'string' || !subjectForm.test(claims['sub']))
      throw new RejectedResponseError('subject-invalid')
    const latest = this.#parts.clock.now() / 1000 + clockTolerance
    if (Number(claims['iat']) > latest) throw new RejectedResponseError('issued-in-the-future')
  }

  #factsOf(provider: Provider, claims: Claims, startedAt: number) {
    const { sub, sid, auth_time: authTime } = claims
    return {
      subject: String(sub),
      sid: typeof sid === 'string' && sid !== '' && sid.length <= 255 ? sid : undefined,
      isFresh:
        provider.freshProof &&
        typeof authTime === 'number' &&
        authTime + provider.clockTolerance >= Math.floor(startedAt / 1000),
      hasSecondFactor: hasTrustedFactor(provider, claims),
      hostedDomain: claims['hd'],
    }
  }

  /** Reads the user info if the ID token lacks a claim. Some providers send only few claims in the ID token. */
  async #userInfo(
    { configuration, openid }: ProviderClient,
    accessToken: string,
    claims: Claims,
    needed: readonly string[],
  ): Promise<Claims> {
    const isMissing = needed.some((name) => claimAt(claims, name) === undefined)
    if (!isMissing || configuration.serverMetadata().userinfo_endpoint === undefined) return {}
    return openid.fetchUserInfo(configuration, accessToken, String(claims['sub']))
  }

  /** Distinguishes a provider that fails from a response that is not valid. Only the second is a failed attempt. */
  #failureOf(provider: Provider, error: unknown): unknown {
    if (error instanceof RejectedResponseError) return error
    const { clients, log } = this.#parts
    const about = { provider: provider.id, reason: reasonOf(error) }
    const code = codeOf(error)
    if (outdatedCodes.has(code)) clients.drop(provider.id)
    if (isUnavailable(error)) {
      log.warn(about, 'a sign-in provider failed')
      return providerUnavailable(error)
    }
    log.info(about, 'the response of a sign-in provider was rejected')
    return new RejectedResponseError(rejectionOf(error, code), error)
  }
}

/** Returns whether the claims `amr` and `acr` state a second factor that the provider entry trusts. */
export function hasTrustedFactor({ secondFactor }: Pick<Provider, 'secondFactor'>, { amr, acr }: Claims): boolean {
  const methods: readonly unknown[] = Array.isArray(amr) ? amr : []
  return (
    secondFactor.amr.some((trusted) => methods.includes(trusted)) ||
    (typeof acr === 'string' && secondFactor.acr.includes(acr))
  )
}

/** Errors in the response of the provider to the browser that are not about this user. */
const serverErrors: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable'])
/** Errors of the token endpoint that concern this product and not the user. */
const clientErrors: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client', 'unsupported_grant_type'])
/** Codes of openid-client for a server that sends something else than OpenID Connect, or nothing. */
const serverCodes: ReadonlySet<string> = new Set([
  'OAUTH_ABORT',
  'OAUTH_HTTP_REQUEST_FORBIDDEN',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_TIMEOUT',
])

/** Codes after which the metadata are read again: the provider may have changed its issuer or its addresses. */
const outdatedCodes: ReadonlySet<string> = new Set([
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
])

/** The classes are known by their names, so that the library is only loaded when it is used. */
const isNamed = (error: unknown, name: string) => error instanceof Error && error.name === name
const isAuthorizationError = (error: unknown): error is AuthorizationResponseError =>
  isNamed(error, 'AuthorizationResponseError')
const isResponseBodyError = (error: unknown): error is ResponseBodyError => isNamed(error, 'ResponseBodyError')

function isUnavailable(error: unknown): boolean {
  if (isOutgoingHttpError(error)) return true
  if (isAuthorizationError(error)) return serverErrors.has(error.error)
  if (isResponseBodyError(error)) return error.status >= 500 || clientErrors.has(error.error)
  if (isNamed(error, 'WWWAuthenticateChallengeError')) return true
  if (serverCodes.has(codeOf(error))) return true
  return error instanceof Error && error.cause !== undefined && error.cause !== error && isUnavailable(error.cause)
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const reasons: Readonly<Record<string, string>> = {
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: 'claim-mismatch',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'token-expired',
  OAUTH_KEY_SELECTION_FAILED: 'key-unknown',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'issuer-mismatch',
}

function rejectionOf(error: unknown, code: string): string {
  if (isAuthorizationError(error)) return error.error === 'access_denied' ? 'denied-at-provider' : 'error-of-provider'
  if (isResponseBodyError(error)) return 'code-rejected'
  return reasons[code] ?? 'response-invalid'
}
