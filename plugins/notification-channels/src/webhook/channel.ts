import type {
  ChannelProvider,
  DeliveryOutcome,
  NotificationChannel,
  NotificationMessage,
  SendContext,
} from '@plinth/kernel'
import type { ProviderChoice, ProviderStrategy } from '../provider-choice.ts'
import { Attempt, type AttemptParts, type AttemptSettings } from './attempt.ts'
import { type CommonAttributes, commonAttributes } from './attributes.ts'
import type { WebhookProvider } from './contract.ts'

/** Read at every send, so that a live change counts at once. */
export interface WebhookSettings extends AttemptSettings {
  readonly enabled: boolean
  readonly defaultProvider: string
  readonly strategy: ProviderStrategy
  readonly order: readonly string[]
}

export interface WebhookChannelParts extends AttemptParts {
  readonly settings: () => WebhookSettings
  readonly choice: ProviderChoice
}

/** The channel `webhook` (document 2): robots and third parties, each behind a provider. */
export class WebhookChannel implements NotificationChannel {
  readonly displayName = { en: 'Webhook', 'zh-CN': 'Webhook' }
  readonly recipientKinds = []
  readonly traits = { idempotent: false }
  readonly #parts: WebhookChannelParts

  constructor(parts: WebhookChannelParts) {
    this.#parts = parts
  }

  enabled(): boolean {
    return this.#parts.settings().enabled
  }

  /** Each code and alias, because a message may name each, and attributes go by the name. */
  providers(): readonly ChannelProvider[] {
    const { directory } = this.#parts
    return directory.names.map((name) => providerOf(name, directory.require(name).provider))
  }

  send(message: NotificationMessage, { signal }: SendContext): Promise<DeliveryOutcome> {
    const refused = (failure: DeliveryOutcome) => Promise.resolve(failure)
    if (signal.aborted) {
      return refused({ outcome: 'deferred', errorCode: 'aborted', errorMessage: 'Given up before sending' })
    }
    let asked: CommonAttributes
    try {
      asked = commonAttributes(message.attributes)
    } catch (error) {
      const errorMessage = error instanceof Error ? error.message : 'An attribute cannot be read'
      return refused({ outcome: 'rejected', errorCode: 'webhook.attribute-invalid', errorMessage })
    }
    const settings = this.#parts.settings()
    const { names, strategy } = candidates(settings, asked)
    return this.#parts.choice.run(names, strategy, signal, (name) =>
      new Attempt(this.#parts, settings, message, asked).through(name, signal),
    )
  }
}

const providerOf = (
  code: string,
  { displayName, messageTypes, attributes = {} }: WebhookProvider,
): ChannelProvider => ({
  code,
  displayName,
  messageTypes: Object.keys(messageTypes),
  attributes: Object.entries(attributes).map(([name, { title, type = 'text', values, minimum, maximum, ...rule }]) => ({
    ...{ name: `webhook.${code}.${name}`, title, type, sensitive: rule.sensitive === true },
    ...(values === undefined ? {} : { values }),
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
  })),
})

/** An address belongs to one provider, so a message that names one, or the address, leaves no choice. */
function candidates(
  { defaultProvider, strategy, order }: WebhookSettings,
  { provider, endpoint }: CommonAttributes,
): { readonly names: readonly string[]; readonly strategy: ProviderStrategy } {
  const isFixed = provider !== undefined || endpoint !== undefined || strategy === 'single' || order.length === 0
  return isFixed ? { names: [provider ?? defaultProvider], strategy: 'single' } : { names: order, strategy }
}
