import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { HttpReply, HttpRequest } from '@plinth/http'
import { type Clock, omitUndefined } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import type { Provider } from './providers.ts'

/** `sign-in`: open a session. `link`: link the identity to the signed-in user. `proof`: prove the identity again. */
export type Purpose = 'sign-in' | 'link' | 'proof'

interface StoredTransaction {
  readonly purpose: Purpose
  readonly provider: string
  readonly issuer: string
  readonly nonce: string
  readonly verifier: string
  /** SHA-256 of the cookie of the browser that began. */
  readonly browser: string
  /** Session that began a `link` or a `proof`. */
  readonly sessionId?: number
  readonly returnTo: string | null
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/** A transaction that was taken out of the store. */
export type Transaction = Pick<StoredTransaction, 'nonce' | 'verifier' | 'returnTo' | 'startedAt'> & {
  readonly state: string
}

/** Reason why a callback has no transaction. Only the audit contains it. */
export type TransactionProblem =
  | 'state-unknown'
  | 'state-expired'
  | 'state-of-another-browser'
  | 'state-of-another-provider'
  | 'state-of-another-purpose'
  | 'state-of-another-session'

/** Lifetime in milliseconds. */
const lifetimeMs = 600_000
/** An expired transaction stays stored for this time, so that the audit distinguishes it from an unknown one. */
const keptAfterExpiryMs = 900_000
const secretBytes = 32
/** A browser with more open sign-ins loses the others, because the size of the header `Cookie` is limited. */
const maxCookies = 5

interface TransactionDependencies {
  readonly store: Pick<SharedStore, 'set' | 'take'>
  readonly clock: Pick<Clock, 'now'>
}

type Browser = Pick<HttpRequest, 'headers' | 'contextPath' | 'isHttps'>

/**
 * Sign-ins that wait for the response of a provider, shared by all instances. A callback takes its transaction out of the
 * store before anything is checked, so it can be used once.
 */
export class Transactions {
  readonly #parts: TransactionDependencies

  constructor(parts: TransactionDependencies) {
    this.#parts = parts
  }

  /** Stores a transaction and sets its cookie, which binds it to the browser. */
  async begin(
    provider: Pick<Provider, 'id' | 'issuer'>,
    begun: { readonly purpose: Purpose; readonly sessionId?: number | undefined; readonly returnTo: string | null },
    request: Browser,
    reply: HttpReply,
  ) {
    const [state, secret, nonce, verifier] = [randomText(), randomText(), randomText(), randomText()]
    const stored: StoredTransaction = omitUndefined({
      ...begun,
      provider: provider.id,
      issuer: provider.issuer,
      nonce,
      verifier,
      browser: hash('sha256', secret),
      startedAt: this.#parts.clock.now(),
    })
    await this.#parts.store.set(keyOf(state), JSON.stringify(stored), lifetimeMs + keptAfterExpiryMs)
    reply.header('set-cookie', [...surplusCookies(request), cookieOf(request, state, secret, lifetimeMs / 1000)])
    return { state, nonce, verifier }
  }

  /** Takes the transaction of a callback, and removes its cookie. */
  async take(
    state: string | null,
    expected: {
      readonly provider: Pick<Provider, 'id' | 'issuer'>
      readonly purpose: Purpose
      readonly sessionId?: number | undefined
    },
    request: Browser,
    reply: HttpReply,
  ): Promise<Transaction | TransactionProblem> {
    const text = state === null ? undefined : await this.#parts.store.take(keyOf(state))
    if (state === null || text === undefined) return 'state-unknown'
    const secret = cookiesOf(request).get(cookieName(request, state))
    reply.header('set-cookie', cookieOf(request, state, '', 0))
    const stored: StoredTransaction = JSON.parse(text)
    if (secret === undefined || !isSame(hash('sha256', secret), stored.browser)) return 'state-of-another-browser'
    if (this.#parts.clock.now() >= stored.startedAt + lifetimeMs) return 'state-expired'
    const { provider, purpose, sessionId } = expected
    if (stored.provider !== provider.id || stored.issuer !== provider.issuer) return 'state-of-another-provider'
    if (stored.purpose !== purpose) return 'state-of-another-purpose'
    if (stored.sessionId !== sessionId) return 'state-of-another-session'
    const { nonce, verifier, returnTo, startedAt } = stored
    return { state, nonce, verifier, returnTo, startedAt }
  }
}

/** 43 characters, which are also allowed for a code verifier (RFC 7636, section 4.1). */
const randomText = () => randomBytes(secretBytes).toString('base64url')
const keyOf = (state: string) => `sign-in-oidc:transaction:${hash('sha256', state)}`
const isSame = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** With HTTPS, no other host or path can set a cookie with the prefix `__Host-`. */
const prefixOf = ({ isHttps }: Browser) => `${isHttps ? '__Host-' : ''}plinth-oidc-`
/** Each transaction has its own cookie, so that two tabs do not disturb each other. */
const cookieName = (request: Browser, state: string) => prefixOf(request) + hash('sha256', state).slice(0, 16)

/**
 * `SameSite=Lax`, because a product with its own callback page may send the callback from a navigation that began at the
 * provider.
 */
function cookieOf(request: Browser, state: string, value: string, maxAgeSeconds: number): string {
  return cookieText(request, cookieName(request, state), value, maxAgeSeconds)
}

function cookieText({ isHttps, contextPath }: Browser, name: string, value: string, maxAgeSeconds: number): string {
  const place = isHttps ? 'Path=/; Secure' : `Path=${contextPath}/api`
  return `${name}=${value}; Max-Age=${maxAgeSeconds}; ${place}; HttpOnly; SameSite=Lax`
}

function cookiesOf({ headers }: Browser): ReadonlyMap<string, string> {
  const pairs = (headers.cookie ?? '').split(';').map((part) => part.replace(/^[ \t]+|[ \t]+$/g, '').split('='))
  return new Map(pairs.map(([name = '', ...rest]) => [name, rest.join('=')]))
}

/** Returns headers that remove the cookies of other open sign-ins, if there are too many. */
function surplusCookies(request: Browser): readonly string[] {
  const form = new RegExp(`^${prefixOf(request)}[0-9a-f]{16}$`)
  const names = [...cookiesOf(request).keys()].filter((name) => form.test(name))
  return names.length < maxCookies ? [] : names.map((name) => cookieText(request, name, '', 0))
}
