import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import { isOutgoingHttpError, type OutgoingHttp, OutgoingHttpError } from '@plinth/outgoing-http'
import type { ClientAuth, Configuration } from 'openid-client'
import { businessError } from './declarations.ts'
import { isSecureUrl, type Provider } from './providers.ts'

/** Maximum age of the metadata of a provider. The other times are milliseconds too. */
const maxAgeMs = 3_600_000
/** Time for which a failed provider is not asked again, so that callers cannot cause many requests. */
const failureAgeMs = 5_000
const deadlineMs = 5_000
const maxResponseBytes = 262_144

/** Algorithms of ID tokens and logout tokens. None of them uses the client secret as the key. */
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

type OpenId = typeof import('openid-client')
type Jose = typeof import('jose')

/** Loads the libraries of the protocol for the first provider that is used, because loading them takes 50 ms. */
const loadLibraries = async (): Promise<{ readonly openid: OpenId; readonly jose: Jose }> => {
  const [openid, jose] = await Promise.all([import('openid-client'), import('jose')])
  return { openid, jose }
}

/** Metadata, keys and libraries for the requests to one provider. */
export interface ProviderClient {
  readonly configuration: Configuration
  readonly logoutKeys: ReturnType<Jose['createRemoteJWKSet']>
  readonly openid: OpenId
  readonly jose: Jose
}

interface Entry {
  readonly fingerprint: string
  readonly startedAt: number
  readonly client: Promise<ProviderClient>
  hasFailed: boolean
}

interface ClientDependencies {
  readonly http: Pick<OutgoingHttp, 'request'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

/**
 * Discovers providers and caches the result. All requests use the outgoing client of the product with its address rules,
 * a time limit and a size limit, and follow no redirects.
 */
export class ProviderClients {
  readonly #parts: ClientDependencies
  readonly #entries = new Map<string, Entry>()

  constructor(parts: ClientDependencies) {
    this.#parts = parts
  }

  /** @throws BusinessError "503" `sign-in-oidc.provider-unavailable` */
  async of(provider: Provider): Promise<ProviderClient> {
    const fingerprint = JSON.stringify([provider.issuer, provider.clientId, provider.secret, provider.clockTolerance])
    const now = this.#parts.clock.monotonic()
    const known = this.#entries.get(provider.id)
    const isUsable =
      known?.fingerprint === fingerprint && now - known.startedAt < (known.hasFailed ? failureAgeMs : maxAgeMs)
    const entry = isUsable ? known : this.#start(provider, fingerprint, now)
    try {
      return await entry.client
    } catch (error) {
      throw providerUnavailable(error)
    }
  }

  /** Forgets the metadata and keys of a provider, because they may have changed. */
  drop(id: string): void {
    this.#entries.delete(id)
  }

  /**
   * Discovers a provider without the cache, and compares its issuer.
   *
   * @throws Error with a text for operators
   */
  async discover(provider: Provider, signal?: AbortSignal): Promise<ProviderClient> {
    const { openid, jose } = await loadLibraries()
    const fetch = this.#fetchWith(signal)
    // In this product, HTTP is only possible to this machine. See `isSecureUrl`.
    const extensions = [openid.enableNonRepudiationChecks]
    if (provider.issuer.startsWith('http:')) extensions.push(openid.allowInsecureRequests)
    const configuration = await openid.discovery(
      new URL(provider.issuer),
      provider.clientId,
      { [openid.clockTolerance]: provider.clockTolerance },
      provider.secret === undefined ? openid.None() : clientAuthOf(openid, provider.secret),
      { execute: extensions, [openid.customFetch]: fetch, timeout: deadlineMs / 1000 },
    )
    const { issuer, jwks_uri: keys = '', authorization_endpoint: authorization = '' } = configuration.serverMetadata()
    if (issuer !== provider.issuer) throw new IssuerMismatchError(issuer)
    for (const address of [keys, authorization]) {
      const url = URL.parse(address)
      if (url === null || !isSecureUrl(url)) throw new Error('The metadata of the provider lacks a secure address.')
    }
    const logoutKeys = jose.createRemoteJWKSet(new URL(keys), {
      timeoutDuration: deadlineMs,
      cacheMaxAge: 300_000,
      [jose.customFetch]: fetch,
    })
    return { configuration, logoutKeys, openid, jose }
  }

  #start(provider: Provider, fingerprint: string, startedAt: number): Entry {
    const entry: Entry = { fingerprint, startedAt, client: this.discover(provider), hasFailed: false }
    entry.client.catch((error) => {
      entry.hasFailed = true
      const about = { provider: provider.id, reason: reasonOf(error) }
      this.#parts.log.warn(about, 'a sign-in provider cannot be used')
    })
    this.#entries.set(provider.id, entry)
    return entry
  }

  /** Returns `fetch` with the address rules and limits of this product. */
  #fetchWith(signal: AbortSignal | undefined) {
    return async (
      address: string,
      options: {
        readonly method?: string
        readonly headers?: ConstructorParameters<typeof Headers>[0]
        readonly body?: unknown
      },
    ): Promise<Response> => {
      const url = new URL(address)
      if (!isSecureUrl(url)) throw new OutgoingHttpError('url-refused', 'Only https addresses are allowed', url.origin)
      const { body } = options
      const response = await this.#parts.http.request({
        url,
        method: options.method === 'POST' ? 'POST' : 'GET',
        headers: Object.fromEntries(new Headers(options.headers)),
        ...(body === undefined || body === null ? {} : { body: String(body) }),
        deadlineMs,
        maxResponseBytes,
        ...(signal === undefined ? {} : { signal }),
      })
      if (response.truncated)
        throw new OutgoingHttpError('answer-invalid', `The answer has more than ${maxResponseBytes} bytes`, url.origin)
      const { status, headers } = response
      const hasBody = status >= 200 && status !== 204 && status !== 205 && status !== 304
      return new Response(hasBody ? response.body : null, { status, headers })
    }
  }
}

/** The metadata contain another issuer. */
class IssuerMismatchError extends Error {
  constructor(issuer: string) {
    super(`The provider says that its issuer is ${JSON.stringify(issuer.slice(0, 255))}. Enter exactly this text.`)
  }
}

/** Sends the secret in the way that the provider lists, in the body if it lists both. */
const clientAuthOf =
  ({ ClientSecretPost, ClientSecretBasic }: OpenId, secret: string): ClientAuth =>
  (server, ...rest) => {
    const isPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') === true
    return (isPost ? ClientSecretPost(secret) : ClientSecretBasic(secret))(server, ...rest)
  }

const maxReasonLength = 300

/** Returns the innermost cause that says something, for the log and for operators. At most 300 characters. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && !(isOutgoingHttpError(error) || error instanceof IssuerMismatchError)
    ? reasonOf(cause)
    : errorReason(error).slice(0, maxReasonLength)
}

/** Only a short reason is the cause, because the response of a provider can be long and is not trusted. */
export const providerUnavailable = (cause: unknown) =>
  businessError('provider-unavailable', { cause: new Error(reasonOf(cause)) })
