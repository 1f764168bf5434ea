import { createHash, createPrivateKey } from 'node:crypto'
import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import { type OutgoingHttp, parseJsonOrUndefined, valueAtPath } from '@plinth/outgoing-http'
import type { SharedStore } from '@plinth/shared-store'
import type { PluginEncryption } from '@plinth/system-config'
import { SignJWT } from 'jose'
import { type Attempt, attemptOfFailure, hints, retryAfterMsOf } from '../attempts.ts'
import type { ServiceAccount } from '../config.ts'

interface TokenDependencies {
  readonly http: Pick<OutgoingHttp, 'request'>
  /** Undefined in a product without a shared store: then each instance has its own token. */
  readonly store: SharedStore | undefined
  readonly box: Pick<PluginEncryption, 'seal' | 'open'>
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Logger
}

interface Token {
  readonly value: string
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Thrown if no token was issued. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
  readonly attempt: Attempt

  constructor(attempt: Attempt) {
    super(attempt.errorMessage)
    this.attempt = attempt
  }
}

const scope = 'https://www.googleapis.com/auth/firebase.messaging'
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const purpose = 'push.fcm-access-token'
const jwtLifetimeSeconds = 3_600
/** Milliseconds, like the constants below. A token is renewed this long before its end. */
const renewalMs = 300_000
const deadlineMs = 10_000
const leaseMs = 15_000
const maxWaitMs = 12_000
const pauseMs = 100
const defaultWaitMs = 60_000

/**
 * Access tokens of a service account (RFC 7523, "Using OAuth 2.0 for Server to Server Applications" of Google). All
 * instances share one token, encrypted in the shared store. It is requested under a lock, so that one request at a time
 * renews it.
 */
export class AccessTokens {
  readonly #parts: TokenDependencies
  readonly #fetching = new Map<string, Promise<string>>()
  readonly #known = new Map<string, Token>()

  constructor(parts: TokenDependencies) {
    this.#parts = parts
  }

  /**
   * @param failed a token that FCM rejected. It is replaced, unless a newer one is already stored.
   * @throws TokenError, and the errors of the shared store
   */
  get(account: ServiceAccount, failed?: string): Promise<string> {
    const key = keyOf(account)
    const running = this.#fetching.get(key)
    if (running !== undefined) return running
    const known = this.#known.get(key)
    if (known !== undefined && known.value !== failed && known.until > this.#parts.clock.now())
      return Promise.resolve(known.value)
    const fetching = this.#renew(account, key, failed).finally(() => this.#fetching.delete(key))
    this.#fetching.set(key, fetching)
    return fetching
  }

  /** Requests a token and stores it nowhere. @throws TokenError */
  async request(account: ServiceAccount, signal?: AbortSignal): Promise<Token> {
    const { http, clock } = this.#parts
    const now = clock.now()
    const body = new URLSearchParams({ grant_type: grantType, assertion: await assertionOf(account, now) }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const request = { url: account.token_uri, headers, body, deadlineMs, ...(signal && { signal }) }
    const response = await http.request(request).catch((error: unknown) => {
      const { outcome, ...failure } = attemptOfFailure(error)
      // A request for a token sends no message, so it can be repeated.
      throw new TokenError({ ...failure, outcome: outcome === 'unknown' ? 'deferred' : outcome })
    })
    const json = parseJsonOrUndefined(response.body)
    const [value, seconds] = [valueAtPath(json, 'access_token'), valueAtPath(json, 'expires_in')]
    if (response.status === 200 && typeof value === 'string' && value !== '' && typeof seconds === 'number')
      return { value, until: now + seconds * 1000 - renewalMs }
    throw new TokenError(failureOf(response.status, valueAtPath(json, 'error'), response.headers['retry-after'], now))
  }

  async #renew(account: ServiceAccount, key: string, failed: string | undefined): Promise<string> {
    const { store, clock } = this.#parts
    if (store === undefined) return this.#remember(key, await this.request(account))
    for (let waited = 0; waited <= maxWaitMs; waited += pauseMs) {
      const shared = await this.#shared(store, key, failed)
      if (shared !== undefined) return this.#remember(key, shared)
      const lease = await store.acquire(key, leaseMs)
      if (lease !== undefined) {
        try {
          const token = (await this.#shared(store, key, failed)) ?? (await this.#share(store, key, account))
          return this.#remember(key, token)
        } finally {
          await lease.release()
        }
      }
      await clock.sleep(pauseMs)
    }
    throw new TokenError({
      outcome: 'deferred',
      errorCode: 'fcm.token-unavailable',
      errorMessage: 'Another instance requests the access token and gets no response',
    })
  }

  #remember(key: string, token: Token): string {
    // Only the current account is used, so tokens of former accounts are dropped.
    this.#known.clear()
    this.#known.set(key, token)
    return token.value
  }

  async #share(store: SharedStore, key: string, account: ServiceAccount): Promise<Token> {
    const { box, clock } = this.#parts
    const token = await this.request(account)
    const ttlMs = Math.max(1, token.until - clock.now())
    await store.set(key, await box.seal(purpose, JSON.stringify(token)), ttlMs)
    return token
  }

  async #shared(store: SharedStore, key: string, failed: string | undefined): Promise<Token | undefined> {
    const { box, clock, log } = this.#parts
    const sealed = await store.get(key)
    if (sealed === undefined) return undefined
    try {
      const token: Token = JSON.parse(await box.open(purpose, sealed))
      return token.value !== failed && token.until > clock.now() ? token : undefined
    } catch (error) {
      log.warn({ reason: errorReason(error) }, 'the shared access token cannot be read, so a new one is requested')
      return undefined
    }
  }
}

/** The name depends on the key and its address, so that a token is never used for another account. */
const keyOf = ({ client_email, private_key, token_uri }: ServiceAccount): string => {
  const hash = createHash('sha256').update([client_email, private_key, token_uri].join('\0'))
  return `${purpose}:${hash.digest('base64url')}`
}

async function assertionOf({ client_email, private_key, token_uri }: ServiceAccount, now: number): Promise<string> {
  const iat = Math.floor(now / 1000)
  const claims = { iss: client_email, scope, aud: token_uri, iat, exp: iat + jwtLifetimeSeconds }
  return new SignJWT(claims).setProtectedHeader({ typ: 'JWT', alg: 'RS256' }).sign(createPrivateKey(private_key))
}

function failureOf(status: number, code: unknown, retryAfter: string | undefined, now: number): Attempt {
  const providerCode = typeof code === 'string' && /^\w{1,40}$/.test(code) ? `${status} ${code}` : String(status)
  if (status === 429 || status >= 500) {
    const errorMessage = 'No access token was issued at the moment'
    const retryAfterMs = retryAfterMsOf(retryAfter, now, defaultWaitMs)
    return { outcome: 'deferred', errorCode: 'fcm.token-unavailable', errorMessage, providerCode, retryAfterMs }
  }
  return {
    outcome: 'rejected',
    errorCode: 'fcm.configuration',
    errorMessage: 'The service account was rejected',
    providerCode,
    hint: hints.configuration,
  }
}
