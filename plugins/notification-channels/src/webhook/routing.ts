import { didYouMean } from '@plinth/kernel'
import { type CommonAttributes, providerAttributes } from './attributes.ts'
import {
  type ConfiguredWebhookProvider,
  WebhookInputError,
  type WebhookProvider,
  type WebhookProviderSettings,
} from './contract.ts'

export interface Route {
  /** Code or alias of the provider. */
  readonly name: string
  readonly provider: WebhookProvider
  readonly messageType: string
  /** URL of the endpoint. Other messages use the same object, so change only a copy. */
  readonly endpoint: URL
  /** The secret. Undefined if it is not configured, or if it belongs to another origin than the endpoint. */
  readonly secret: string | undefined
  readonly attributes: ReturnType<typeof providerAttributes>
}

export interface RoutingSettings {
  readonly messageType: string
  readonly signing: boolean
  readonly endpointAttribute: 'any' | 'known-hosts' | 'off'
}

/** Returns the endpoint or the chat to which the rate limits of the provider apply. It contains secrets. */
export const limitedAddressOf = ({ endpoint, provider, secret, attributes }: Route): string =>
  JSON.stringify([
    endpoint.href,
    provider.secret.use === 'token' ? (secret ?? null) : null,
    attributes[provider.rateLimitBy ?? ''] ?? null,
  ])

/** Error for a message that the configuration does not allow. */
export class WebhookRouteError extends Error {
  override readonly name = 'WebhookRouteError'
  readonly code: 'provider-unknown' | 'provider-disabled' | 'endpoint-missing' | 'endpoint-not-allowed'

  constructor(code: WebhookRouteError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Providers by code and alias. */
export class ProviderDirectory {
  readonly #byName = new Map<string, ConfiguredWebhookProvider>()

  constructor(contributions: Iterable<ConfiguredWebhookProvider>) {
    for (const configured of contributions) {
      const { code, aliases = [] } = configured.provider
      for (const name of [code, ...aliases]) this.#byName.set(name, configured)
    }
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()].sort()
  }

  get providers(): readonly WebhookProvider[] {
    return [...new Set([...this.#byName.values()].map(({ provider }) => provider))]
  }

  /** Returns the provider with a code or alias. @throws WebhookRouteError */
  require(name: string): ConfiguredWebhookProvider {
    const found = this.#byName.get(name)
    if (found !== undefined) return found
    const shown = name.slice(0, 64)
    const text = `No loaded plugin provides the webhook provider "${shown}"; loaded: ${this.names.join(', ') || 'none'}.`
    throw new WebhookRouteError('provider-unknown', text + didYouMean(shown, this.#byName.keys()))
  }
}

/**
 * Finds the endpoint, secret and type of a message. Attributes of the message override the configuration. A configured
 * secret is only sent to the origin of the configured endpoint. Otherwise a user who can set an attribute could receive
 * the secret.
 *
 * @throws WebhookRouteError
 * @throws WebhookInputError
 */
export function routeOf(
  name: string,
  { provider, settings }: ConfiguredWebhookProvider,
  requested: CommonAttributes,
  attributes: Readonly<Record<string, unknown>>,
  { messageType, signing, endpointAttribute }: RoutingSettings,
): Route {
  const configured = settings(name)
  if (configured.enabled === false) {
    throw new WebhookRouteError('provider-disabled', `The webhook provider "${name}" is switched off`)
  }
  const standard = configuredEndpoint(configured, provider)
  const named = requested.endpoint === undefined ? null : namedEndpoint(requested.endpoint, provider, endpointAttribute)
  const endpoint = named ?? standard
  if (endpoint === null) {
    const key = `platform.notification.channels.webhook.providers.${name}.endpoint`
    throw new WebhookRouteError('endpoint-missing', `The webhook provider "${name}" has no address; set ${key}`)
  }
  const secret = requested.secret ?? (endpoint.origin === standard?.origin ? configured.secret : undefined)
  const isUsed = provider.secret.use === 'token' || signing
  const own = providerAttributes(provider, name, attributes)
  const chosen = messageTypeOf(provider, requested, configured, messageType)
  return {
    name,
    provider,
    messageType: provider.messageTypeOf?.(chosen, own) ?? chosen,
    endpoint,
    secret: isUsed ? secret : undefined,
    attributes: own,
  }
}

const endpoints = new WeakMap<WebhookProviderSettings, URL | null>()

function configuredEndpoint(configured: WebhookProviderSettings, { endpoint }: WebhookProvider): URL | null {
  const known = endpoints.get(configured)
  if (known !== undefined) return known
  const url = URL.parse(configured.endpoint ?? endpoint ?? '')
  endpoints.set(configured, url)
  return url
}

function messageTypeOf(
  { messageTypes }: WebhookProvider,
  requested: CommonAttributes,
  configured: WebhookProviderSettings,
  standard: string,
): string {
  const known = Object.keys(messageTypes)
  if (requested.messageType !== undefined && !known.includes(requested.messageType)) {
    throw new WebhookInputError('webhook.message-type', `be one of ${known.join(', ')} for this provider`)
  }
  const expected = requested.messageType ?? configured.messageType ?? standard
  return known.includes(expected) ? expected : (known[0] ?? expected)
}

function namedEndpoint(
  written: string,
  { knownHosts }: WebhookProvider,
  allowed: RoutingSettings['endpointAttribute'],
): URL {
  const url = URL.parse(written)
  if (url === null || !['https:', 'http:'].includes(url.protocol)) {
    throw new WebhookInputError('webhook.endpoint', 'be an https address')
  }
  const isKnown = knownHosts.some((host) =>
    host.startsWith('*.') ? url.hostname.endsWith(host.slice(1)) : url.hostname === host,
  )
  if (allowed === 'any' || (allowed === 'known-hosts' && isKnown)) return url
  const rule = allowed === 'off' ? 'Messages may not name addresses' : `The address must be at ${knownHosts.join(', ')}`
  const key = 'platform.notification.channels.webhook.endpoint-attribute'
  throw new WebhookRouteError('endpoint-not-allowed', `${rule}; see ${key}`)
}
