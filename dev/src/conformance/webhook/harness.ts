import {
  type DeliveryOutcome,
  definePlugin,
  defineProduct,
  type NotificationMessage,
  notificationChannel,
  type Plugin,
} from '@plinth/kernel'
import webhookChannel, { type ConfiguredWebhookProvider, webhookProvider } from '@plinth/notification-channels/webhook'
import { type OutgoingRequest, type OutgoingResponse, outgoingHttp } from '@plinth/outgoing-http'
import { startForTest } from '../../testing/index.ts'

export interface WebhookSample {
  /** HTTP status of the response. Default: 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Body of a response. A string is sent unchanged, any other value as JSON. */
  readonly body: unknown
}

export interface WebhookProviderSetting {
  readonly plugin: Plugin
  /** Fictitious URL of the service, including a token if such URLs have one. */
  readonly endpoint: string
  /** Fictitious secret in a valid form. */
  readonly secret: string
  /** Attributes that every message needs. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

export interface ProviderHarness {
  readonly configured: ConfiguredWebhookProvider
  /** Requests that the provider has sent, the oldest first. */
  readonly requests: readonly OutgoingRequest[]
  /** Sets the response that the simulated service sends to later requests. */
  answer(sample: WebhookSample | ((request: OutgoingRequest) => WebhookSample)): void
  send(message?: Partial<NotificationMessage>): Promise<DeliveryOutcome>
  stop(): Promise<void>
}

const owner = definePlugin({
  id: 'webhook-conformance.owner',
  version: '1.0.0',
  kernel: '^1.0.0',
  extensionPoints: [notificationChannel],
})

/** Starts a provider behind the real channel, with a simulated service. No request leaves the process. */
export async function startProvider(
  { plugin, endpoint, secret, attributes = {} }: WebhookProviderSetting,
  set: Readonly<Record<string, string>> = {},
): Promise<ProviderHarness> {
  const requests: OutgoingRequest[] = []
  let answer: (request: OutgoingRequest) => WebhookSample = () => ({ body: '' })
  const service = definePlugin({
    id: 'webhook-conformance.service',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [outgoingHttp],
    setup: ({ provide }) =>
      provide(outgoingHttp, {
        check: () => {},
        reach: async () => {},
        stream: () => Promise.reject(new Error('not used')),
        request: async (request): Promise<OutgoingResponse> => {
          requests.push(request)
          const { status = 200, headers = {}, body } = answer(request)
          return { status, headers, truncated: false, body: typeof body === 'string' ? body : JSON.stringify(body) }
        },
      }),
  })
  const point = plugin.contributes?.some((one) => 'id' in one && one.id === webhookProvider.id)
  if (point !== true)
    throw new TypeError('The plugin contributes no webhook provider: make it with webhookProviderPlugin')
  const plugins = [plugin, webhookChannel, service, owner]
  const running = await startForTest(defineProduct({ name: 'webhook-conformance', plugins }), { set })
  const channel = running.contributions(notificationChannel).get('webhook')
  const [configured] = [...running.contributions(webhookProvider).values()]
  if (channel === undefined || configured === undefined) throw new TypeError('The plugin contributed no provider')
  const { code } = configured.provider
  let sent = 0
  return {
    configured,
    requests,
    answer: (sample) => {
      answer = typeof sample === 'function' ? sample : () => sample
    },
    send: (message = {}) => {
      sent += 1
      const given = { 'webhook.provider': code, 'webhook.endpoint': endpoint, 'webhook.secret': secret }
      const fullMessage: NotificationMessage = {
        id: `message-${sent}`,
        subject: 'Release',
        content: 'It is out',
        variables: {},
        recipients: [],
        ...message,
        attributes: { ...given, ...attributes, ...message.attributes },
      }
      const context = { signal: new AbortController().signal, idempotencyKey: fullMessage.id, attempt: 1 }
      return channel.send(fullMessage, context)
    },
    stop: () => running.stop('case ended'),
  }
}
