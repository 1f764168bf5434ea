import {
  type ChannelCheck,
  type ChannelProvider,
  type ChannelReadiness,
  type ChannelTarget,
  channelChecks,
  type DeliveryOutcome,
  type NotificationChannel,
  type NotificationMessage,
  omitUndefined,
  type SendContext,
} from '@plinth/kernel'
import type { ProviderChoice, ProviderStrategy } from '../provider-choice.ts'
import { Attempt, type AttemptDependencies, type AttemptSettings } from './attempt.ts'
import { type CommonAttributes, commonAttributes } from './attributes.ts'
import { keys } from './config.ts'
import type { WebhookProvider } from './contract.ts'
import { limitedAddressOf, routeOf } from './routing.ts'
import { needsOf, Verification } from './verification.ts'

/** Settings that are read at every send, so that a change takes effect immediately. */
interface WebhookSettings extends AttemptSettings {
  readonly enabled: boolean
  readonly defaultProvider: string
  readonly strategy: ProviderStrategy
  readonly order: readonly string[]
}

interface WebhookChannelDependencies extends AttemptDependencies {
  readonly settings: () => WebhookSettings
  readonly choice: ProviderChoice
}

/** The channel `webhook` of document 2 of the specification. A separate plugin supports each service. */
export class WebhookChannel implements NotificationChannel {
  readonly displayName = { en: 'Webhook', 'zh-CN': 'Webhook' }
  readonly recipientKinds = []
  readonly traits = { idempotent: false }
  readonly #parts: WebhookChannelDependencies

  constructor(parts: WebhookChannelDependencies) {
    this.#parts = parts
  }

  enabled(): boolean {
    return this.#parts.settings().enabled
  }

  /** Lists providers by code and by alias, because messages may use either. */
  providers(): readonly ChannelProvider[] {
    const { directory } = this.#parts
    return directory.names.map((name) => providerOf(name, directory.require(name).provider))
  }

  /** Verifies a provider. Default: all providers that are tried for a message without a provider. */
  async verify(signal: AbortSignal, provider?: string): Promise<readonly ChannelCheck[]> {
    const settings = this.#parts.settings()
    const verification = new Verification(this.#parts, settings)
    const names = provider === undefined ? candidates(settings, {}).names : [provider]
    let proved: readonly ChannelCheck[] = channelChecks
    for (const name of names) {
      const checked = await verification.of(name, signal)
      proved = proved.filter((check) => checked.includes(check))
    }
    return proved
  }

  /**
   * Condition of a provider. Without `provider`, the condition of the channel: it rests or lacks keys only if all
   * providers that a message may use do so.
   */
  condition(provider?: string): ChannelReadiness {
    if (provider !== undefined) return this.#conditionOf(provider)
    const { names } = candidates(this.#parts.settings(), {})
    const { directory } = this.#parts
    const parts = names.filter((name) => directory.names.includes(name)).map((name) => this.#conditionOf(name))
    const [first] = parts
    const isComplete = parts.some(({ missingKeys }) => missingKeys.length === 0)
    return {
      keys: [...Object.keys(keys), ...parts.flatMap((part) => part.keys)],
      missingKeys: isComplete ? [] : (first?.missingKeys ?? [defaultProviderKey]),
      restsForMs: least(parts.map(({ restsForMs = 0 }) => restsForMs)),
      limitedForMs: least(parts.map(({ limitedForMs = 0 }) => limitedForMs)),
    }
  }

  #conditionOf(name: string): ChannelReadiness {
    const { directory, choice, limits, settings } = this.#parts
    const configured = directory.require(name)
    // With the strategy `single`, a provider that rests is used nevertheless, so the rest is not reported.
    const isChosen = settings().strategy !== 'single'
    return {
      ...needsOf(name, configured),
      isOff: configured.settings(name).enabled === false,
      restsForMs: isChosen ? choice.restsFor(name) : 0,
      limitedForMs: limits.limitedFor(configured.provider.code),
    }
  }

  /**
   * The servers and addresses of all providers that the message may use. The address is what the rate limits of the
   * provider apply to.
   */
  target({ attributes }: NotificationMessage): ChannelTarget {
    const settings = this.#parts.settings()
    const requested = commonAttributes(attributes)
    const routes = candidates(settings, requested).names.flatMap((name) => {
      try {
        return [routeOf(name, this.#parts.directory.require(name), requested, attributes, settings)]
      } catch {
        // The send reports a provider that cannot be used.
        return []
      }
    })
    return {
      server: routes.map(({ name, endpoint }) => `${name} ${endpoint.host}`).join(' '),
      address: routes.map(limitedAddressOf).join(' '),
    }
  }

  send(message: NotificationMessage, { signal }: SendContext): Promise<DeliveryOutcome> {
    const rejected = (failure: DeliveryOutcome) => Promise.resolve(failure)
    if (signal.aborted) {
      return rejected({ outcome: 'deferred', errorCode: 'aborted', errorMessage: 'Cancelled before sending' })
    }
    let requested: CommonAttributes
    try {
      requested = commonAttributes(message.attributes)
    } catch (error) {
      const errorMessage = error instanceof Error ? error.message : 'An attribute cannot be read'
      return rejected({ outcome: 'rejected', errorCode: 'webhook.attribute-invalid', errorMessage })
    }
    const settings = this.#parts.settings()
    const { names, strategy } = candidates(settings, requested)
    return this.#parts.choice.run(names, strategy, signal, (name) =>
      new Attempt(this.#parts, settings, message, requested).through(name, signal),
    )
  }
}

const defaultProviderKey = 'platform.notification.channels.webhook.default-provider'

const least = (waits: readonly number[]) => (waits.length === 0 ? 0 : Math.min(...waits))

const providerOf = (
  code: string,
  { displayName, messageTypes, attributes = {}, receiver }: WebhookProvider,
): ChannelProvider =>
  omitUndefined({
    receiver: receiver === undefined ? undefined : `webhook.${code}.${receiver}`,
    code,
    displayName,
    messageTypes: Object.keys(messageTypes),
    attributes: Object.entries(attributes).map(([name, { title, type = 'text', values, minimum, maximum, ...rule }]) =>
      omitUndefined({
        name: `webhook.${code}.${name}`,
        title,
        type,
        sensitive: rule.sensitive === true,
        values,
        minimum,
        maximum,
      }),
    ),
  })

/** Returns the providers to try. A message that specifies an endpoint or a provider uses only that provider. */
function candidates(
  { defaultProvider, strategy, order }: WebhookSettings,
  { provider, endpoint }: Partial<Pick<CommonAttributes, 'provider' | 'endpoint'>>,
): { readonly names: readonly string[]; readonly strategy: ProviderStrategy } {
  const isFixed = provider !== undefined || endpoint !== undefined || strategy === 'single' || order.length === 0
  return isFixed ? { names: [provider ?? defaultProvider], strategy: 'single' } : { names: order, strategy }
}
