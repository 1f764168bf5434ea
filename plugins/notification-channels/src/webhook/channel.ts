import type { DeliveryOutcome, NotificationChannel, NotificationMessage, SendContext } from '@plinth/kernel'
import type { ProviderChoice, ProviderStrategy } from '../provider-choice.ts'
import { Attempt, type AttemptParts, type AttemptSettings } from './attempt.ts'
import { type CommonAttributes, commonAttributes } from './attributes.ts'

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

  async send(message: NotificationMessage, { signal }: SendContext): Promise<DeliveryOutcome> {
    if (signal.aborted) return { outcome: 'deferred', errorCode: 'aborted', errorMessage: 'Given up before sending' }
    let asked: CommonAttributes
    try {
      asked = commonAttributes(message.attributes)
    } catch (error) {
      const errorMessage = error instanceof Error ? error.message : 'An attribute cannot be read'
      return { outcome: 'rejected', errorCode: 'webhook.attribute-invalid', errorMessage }
    }
    const { names, strategy } = this.#candidates(asked)
    return this.#parts.choice.run(names, strategy, signal, async (name) => {
      const outcome = await new Attempt(this.#parts, message, asked).through(name, signal)
      if (outcome.outcome !== 'accepted') this.#logFailure(message, outcome)
      return outcome
    })
  }

  /** An address belongs to one provider, so a message that names one, or the address, leaves no choice. */
  #candidates({ provider, endpoint }: CommonAttributes): { names: readonly string[]; strategy: ProviderStrategy } {
    const { defaultProvider, strategy, order } = this.#parts.settings()
    const isFixed =
      [provider, endpoint].some((given) => given !== undefined) || strategy === 'single' || order.length === 0
    return isFixed ? { names: [provider ?? defaultProvider], strategy: 'single' } : { names: order, strategy }
  }

  #logFailure({ id }: NotificationMessage, failure: Exclude<DeliveryOutcome, { outcome: 'accepted' }>): void {
    const { outcome, provider, errorCode, errorMessage, providerCode, providerMessage } = failure
    const line = { provider, messageId: id, outcome, errorCode, errorMessage, providerCode, providerMessage }
    this.#parts.log.warn(line, 'webhook not delivered')
  }
}
