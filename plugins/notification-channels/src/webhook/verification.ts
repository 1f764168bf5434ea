import {
  bilingual,
  type ChannelCheck,
  ChannelError,
  type LocalizedText,
  type NeededConfigKeys,
  type NotificationMessage,
} from '@plinth/kernel'
import { isOutgoingHttpError, type OutgoingFailure, type OutgoingHttpError } from '@plinth/outgoing-http'
import type { AttemptDependencies, AttemptSettings } from './attempt.ts'
import type { ConfiguredWebhookProvider, WebhookHint, WebhookProvider, WebhookResponse } from './contract.ts'
import { hintOfFailure, messages, responseOf } from './judgement.ts'
import { maskPatterns, secretPartsOfUrl } from './masking.ts'
import { buildRequest, withToken } from './requests.ts'
import { type Route, routeOf, WebhookRouteError } from './routing.ts'

type VerificationDependencies = Pick<AttemptDependencies, 'directory' | 'http' | 'clock' | 'redact'>

const plain = {
  provider: undefined,
  endpoint: undefined,
  messageType: undefined,
  secret: undefined,
  payload: undefined,
}
const sample: NotificationMessage = {
  id: 'verification',
  subject: 'x',
  content: 'x',
  variables: {},
  recipients: [],
  attributes: {},
}

/** Errors that the URL causes before a connection is opened. */
const ofTheAddress: readonly OutgoingFailure[] = ['url-refused', 'port-refused', 'address-refused', 'host-unknown']
/** Hints of a provider that does not accept the URL, the token or the signature. */
const ofTheAccount: readonly (WebhookHint | undefined)[] = [
  'token-invalid',
  'robot-disabled',
  'ip-not-allowed',
  'signature-mismatch',
]

const hintText = (hint: WebhookHint): LocalizedText => ({
  en: messages.en.webhook.hint[hint],
  'zh-CN': messages['zh-CN'].webhook.hint[hint],
})

/** Verifies providers. It never makes a POST request, so no message is sent. */
export class Verification {
  readonly #parts: VerificationDependencies
  readonly #settings: AttemptSettings

  constructor(parts: VerificationDependencies, settings: AttemptSettings) {
    this.#parts = parts
    this.#settings = settings
  }

  /**
   * Verifies a provider. Returns the checks that it passed.
   *
   * @throws ChannelError without secrets
   */
  async of(name: string, signal: AbortSignal): Promise<readonly ChannelCheck[]> {
    const route = this.#route(name)
    try {
      return await this.#ask(route, signal)
    } catch (error) {
      throw isOutgoingHttpError(error) ? this.#problemOf(error, route) : error
    }
  }

  #route(name: string): Route {
    const { directory } = this.#parts
    try {
      const configured = directory.require(name)
      const { missingKeys } = needsOf(name, configured)
      if (missingKeys.length > 0 && configured.settings(name).enabled !== false) {
        throw new ChannelError('configuration', missing(missingKeys))
      }
      return routeOf(name, configured, plain, {}, this.#settings)
    } catch (error) {
      if (!(error instanceof WebhookRouteError)) throw error
      throw new ChannelError('configuration', error.code === 'provider-disabled' ? disabled(name) : unknown(name))
    }
  }

  async #ask(route: Route, signal: AbortSignal): Promise<readonly ChannelCheck[]> {
    const { http, clock } = this.#parts
    const { deadlineMs } = this.#settings
    const { provider, endpoint, secret } = route
    const url = addressOf(route, clock.now())
    http.check(url)
    if (provider.verify === undefined) {
      await http.reach({ url, deadlineMs, signal })
      return ['configuration', 'address', 'connection']
    }
    const token = provider.secret.use === 'token' ? secret : undefined
    const own = provider.verify.address({ endpoint: new URL(endpoint), token })
    const question = withToken({ url: own.url ?? endpoint, headers: own.headers }, provider.secret, token)
    const response = await http.request({ method: 'GET', ...question, deadlineMs, signal })
    requireYes(provider, provider.verify, responseOf(response, clock.now()))
    return ['configuration', 'address', 'connection', 'credentials']
  }

  #problemOf(error: OutgoingHttpError, { endpoint, secret = '' }: Route): ChannelError {
    const detail = maskPatterns(this.#parts.redact(error.message, [...secretPartsOfUrl(endpoint), secret]))
    const reason = hintText(hintOfFailure(error))
    return ofTheAddress.includes(error.code)
      ? new ChannelError('address', reason, ['configuration'], detail)
      : new ChannelError('connection', reason, ['configuration', 'address'], detail)
  }
}

/** Returns the URL for a sample message, or the endpoint if the sample lacks attributes that the provider requires. */
function addressOf(route: Route, nowMs: number): Readonly<URL> {
  try {
    return buildRequest(route, sample, undefined, nowMs).request.url
  } catch (error) {
    if (error instanceof Error && error.name === 'WebhookInputError') return route.endpoint
    throw error
  }
}

function requireYes(
  { judge }: WebhookProvider,
  { accepts }: NonNullable<WebhookProvider['verify']>,
  response: WebhookResponse,
): void {
  if (accepts(response)) return
  const result = judge(response)
  const hint = (result.delivered ? undefined : result.hint) ?? 'unexpected-response'
  const detail = `HTTP ${response.status}`
  throw ofTheAccount.includes(hint)
    ? new ChannelError('credentials', hintText(hint), ['configuration', 'address', 'connection'], detail)
    : new ChannelError('connection', hintText(hint), ['configuration', 'address'], detail)
}

/**
 * Returns the keys that the provider needs. If all users share one URL, the token is required, because it identifies
 * the receiver.
 */
export function needsOf(name: string, { provider, settings }: ConfiguredWebhookProvider): NeededConfigKeys {
  const { endpoint, secret } = settings(name)
  const key = (setting: string) => `platform.notification.channels.webhook.providers.${name}.${setting}`
  const needsToken = provider.secret.use === 'token' && endpoint === undefined && secret === undefined
  const missing =
    provider.endpoint === undefined ? (endpoint === undefined ? ['endpoint'] : []) : needsToken ? ['secret'] : []
  const keys = ['endpoint', 'secret', 'message-type', 'enabled'].map(key)
  return { keys, missingKeys: missing.map(key) }
}

const missing = (keys: readonly string[]) =>
  bilingual(`These keys have no value: ${keys.join(', ')}.`, `以下配置项尚未填写：${keys.join('、')}。`)
const disabled = (name: string) =>
  bilingual(`The webhook provider "${name}" is disabled.`, `Webhook 服务商“${name}”已停用。`)
const unknown = (name: string) =>
  bilingual(`No loaded plugin provides the webhook provider "${name}".`, `没有插件提供 Webhook 服务商“${name}”。`)
