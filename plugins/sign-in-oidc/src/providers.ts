import { hash } from 'node:crypto'
import type { Site } from '@plinth/site'
import { issuersWithoutFreshLogin } from './claims.ts'
import { type ClientSecret, type OidcConfig, type ProviderEntry, root } from './config.ts'
import { businessError } from './declarations.ts'

/** A configured provider with its defaults. */
export interface Provider {
  readonly id: string
  readonly issuer: string
  readonly clientId: string
  /** Absent for a public client, and if the stored secret belongs to another issuer or client. */
  readonly secret: string | undefined
  readonly title: string
  readonly scopes: readonly string[]
  readonly enabled: boolean
  readonly createAccounts: boolean
  readonly allowedDomains: readonly string[]
  readonly exclusiveDomains: readonly string[]
  readonly passwordHidden: boolean
  readonly secondFactor: { readonly amr: readonly string[]; readonly acr: readonly string[] }
  readonly missingClaim: 'keep' | 'reject'
  readonly requireLogoutType: boolean
  readonly frontChannelLogout: boolean
  /** Seconds. */
  readonly clockTolerance: number
  readonly freshProof: boolean
}

/**
 * Ids that are names of other ways to sign in. A provider with such an id could be mistaken for it in the audit and in
 * messages.
 */
const reservedIds: ReadonlySet<string> = new Set([
  'api-token',
  'code',
  'email',
  'evm',
  'identities',
  'logout',
  'mobile',
  'none',
  'oidc',
  'passkey',
  'password',
  'providers',
  'recovery',
  'recovery-code',
  'session',
  'totp',
  'wallet',
])

/**
 * Returns the name under which iam stores the identities of an issuer: `oidc:` and the first 27 hexadecimal digits of its
 * SHA-256. It depends on the issuer and not on the id of the provider. If a provider gets another issuer, the identities of
 * the former one are therefore not valid for it.
 */
export const issuerKeyOf = (issuer: string): string => `oidc:${hash('sha256', issuer).slice(0, 27)}`

export const issuerKeyPrefix = 'oidc:'

/** Returns a provider with its defaults. */
export function providerOf(
  id: string,
  entry: ProviderEntry,
  secrets: Readonly<Record<string, ClientSecret>>,
): Provider {
  const stored = Object.hasOwn(secrets, id) ? secrets[id] : undefined
  const isBound = stored?.issuer === entry.issuer && stored.clientId === entry.clientId
  return {
    title: id,
    scopes: ['profile', 'email'],
    enabled: true,
    createAccounts: false,
    allowedDomains: [],
    exclusiveDomains: [],
    passwordHidden: false,
    missingClaim: 'keep',
    requireLogoutType: true,
    frontChannelLogout: false,
    clockTolerance: 30,
    ...entry,
    id,
    secret: isBound ? stored.secret : undefined,
    secondFactor: { amr: entry.secondFactor?.amr ?? [], acr: entry.secondFactor?.acr ?? [] },
    freshProof: (entry.freshProof ?? true) && !issuersWithoutFreshLogin.has(entry.issuer),
  }
}

/** Returns why an entry cannot be used, in English for operators. */
export function problemOfEntry(id: string, { issuer }: ProviderEntry): string | undefined {
  if (reservedIds.has(id)) return `"${id}" is the name of another way to sign in. Choose another id.`
  if (issuer.includes('/.well-known/')) return `"${id}": enter the issuer, without "/.well-known/" and the rest.`
  const url = URL.parse(issuer)
  if (url === null || url.username !== '' || url.password !== '') return `"${id}": the issuer is not a valid address.`
  return isSecureUrl(url) ? undefined : `"${id}": the issuer must begin with "https://".`
}

const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** True for HTTPS, and for HTTP to this machine, which no network can read. */
export const isSecureUrl = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && loopbackHosts.has(hostname))

/** Reads the providers from the configuration. */
export class Providers {
  readonly #config: OidcConfig
  readonly #site: Pick<Site, 'url'>
  /** Address of this server, for a product without a configured site address. */
  readonly #serverUrl: () => string | undefined
  readonly #all: () => ReadonlyMap<string, Provider>

  constructor(config: OidcConfig, site: Pick<Site, 'url'>, serverUrl: () => string | undefined) {
    this.#config = config
    this.#site = site
    this.#serverUrl = serverUrl
    this.#all = config.derived(() => {
      const secrets = config.get(`${root}.client-secrets`)
      const entries = Object.entries(config.get(`${root}.providers`))
      return new Map(entries.map(([id, entry]) => [id, providerOf(id, entry, secrets)]))
    })
  }

  get all(): readonly Provider[] {
    return [...this.#all().values()]
  }

  get enabled(): readonly Provider[] {
    return this.all.filter(({ enabled }) => enabled)
  }

  find(id: string): Provider | undefined {
    return this.#all().get(id)
  }

  /** @throws BusinessError "404" `sign-in-oidc.provider-unknown` for an unknown or disabled provider */
  require(id: string): Provider {
    const provider = this.find(id)
    if (!provider?.enabled) throw businessError('provider-unknown')
    return provider
  }

  /** Address of the site from the configuration, never from a request. */
  get #siteUrl(): string {
    return this.#site.url || this.#serverUrl() || 'http://localhost'
  }

  /** Each provider has its own redirect URI, so that the response of one cannot be taken for that of another. */
  redirectUriOf(id: string): string {
    return `${this.#siteUrl}${this.#config.get(`${root}.page`)}/${id}`
  }

  backchannelLogoutUriOf(id: string): string {
    return `${this.#siteUrl}${logoutPath(id, 'backchannel-logout')}`
  }

  get afterLogoutUri(): string {
    return `${this.#siteUrl}${this.#config.get(`${root}.logout-page`)}`
  }
}

export const logoutPath = (provider: string, kind: 'backchannel-logout' | 'frontchannel-logout') =>
  `/api/v1/auth/oidc/${provider}/${kind}`
