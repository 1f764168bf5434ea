import { type DeliveryOutcome, definePlugin, notificationChannel, optional } from '@plinth/kernel'
import { outgoingHttp } from '@plinth/outgoing-http'
import { rateLimiter } from '@plinth/rate-limit'
import { ProviderChoice } from '../provider-choice.ts'
import { EndpointLimits } from './attempt.ts'
import { WebhookChannel } from './channel.ts'
import { keys } from './config.ts'
import { webhookProvider } from './contract.ts'
import { messages } from './judgement.ts'
import { ProviderDirectory } from './routing.ts'

/** Error codes of problems with the bot, which affect all its messages. */
const botErrors = ['token-invalid', 'robot-disabled', 'ip-not-allowed', 'signature-mismatch', 'endpoint-missing'].map(
  (name) => `webhook.${name}`,
)
const isFaulty = (failure: DeliveryOutcome): boolean =>
  failure.outcome === 'deferred' || (failure.outcome === 'rejected' && botErrors.includes(failure.errorCode))

/** Plugin of the channel `webhook`, which sends to bots and push services. Each provider is another plugin. */
export default definePlugin({
  id: 'notification-channels.webhook',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { outgoingHttp, rateLimiter: optional(rateLimiter) },
  extensionPoints: [webhookProvider],
  contributes: [notificationChannel],
  config: keys,
  messages,
  setup({ services, config, clock, log, redact, contribute, contributions }) {
    const directory = new ProviderDirectory(contributions(webhookProvider).values())
    const key = 'platform.notification.channels.webhook'
    const settings = config.derived(() => ({
      enabled: config.get(`${key}.enabled`),
      defaultProvider: config.get(`${key}.default-provider`),
      messageType: config.get(`${key}.message-type`),
      signing: config.get(`${key}.signing-enabled`),
      strategy: config.get(`${key}.strategy`),
      order: config.get(`${key}.providers-order`),
      endpointAttribute: config.get(`${key}.endpoint-attribute`),
      limited: config.get(`${key}.rate-limit-enabled`),
      deadlineMs: config.get(`${key}.deadline`),
    }))
    config.onVerify(`${key}.default-provider`, (name) => void directory.require(name))
    config.onVerify(`${key}.providers-order`, (names) => {
      for (const name of names) directory.require(name)
    })
    const restMs = () => config.get(`${key}.provider-rest`)
    const channel = new WebhookChannel({
      settings,
      directory,
      clock,
      log,
      redact,
      choice: new ProviderChoice({ clock, restMs, isFaulty }),
      limits: new EndpointLimits(services.rateLimiter, log, clock),
      http: services.outgoingHttp,
    })
    contribute(notificationChannel, 'webhook', channel)
  },
})
