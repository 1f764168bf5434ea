import { type LocalizedText, localize } from '@plinth/config-schema'
import { extensionPoint } from '../refs.ts'
import { shape } from '../shapes/shape.ts'

/** Recipient of a message (document 2, "Recipient kinds"). */
export type Recipient =
  | { readonly kind: 'user'; readonly userId: number }
  | { readonly kind: 'email'; readonly address: string }
  | { readonly kind: 'mobile'; readonly number: string }
  | { readonly kind: 'websocket-user'; readonly userId: number }
  | { readonly kind: 'websocket-session'; readonly sessionId: string }
  | { readonly kind: 'websocket-group'; readonly group: string }
  | { readonly kind: 'websocket-guest' }
  | { readonly kind: 'social-openid'; readonly openId: string }
  | { readonly kind: 'topic'; readonly topic: string }

export type RecipientKind = Recipient['kind']

/** Part of a text, from `start` (inclusive) to `end` (exclusive), in UTF-16 units. */
export type TextRange = readonly [start: number, end: number]

/** One message, ready to send (document 2, "Message"). */
export interface NotificationMessage {
  /** Assigned by the facade, unique per message. */
  readonly id: string
  readonly subject: string
  readonly content: string
  /**
   * Ranges of subject and content where a template or a catalogue text inserted values of variables, ascending and
   * without overlap. A channel with markup shows these parts literally. Absent if the message was not rendered.
   */
  readonly valueRanges?: { readonly subject: readonly TextRange[]; readonly content: readonly TextRange[] }
  /**
   * HTML form of `content`, for channels that show HTML; other channels send `content`. The author of the HTML must
   * have escaped user input.
   */
  readonly html?: string
  readonly template?: string
  readonly variables: Readonly<Record<string, string | number | boolean | null>>
  /**
   * Names of variables with secret values, such as a one-time code. Subject and content may contain them in clear text.
   * Logs, results and records must not: the code that writes them masks the values, `redact(text, secretsOf(message))`.
   */
  readonly secretVariables?: readonly string[]
  readonly recipients: readonly Recipient[]
  /** Values for the channel only. They may be stored in send records, so they must not be keys, tokens or passwords. */
  readonly attributes: Readonly<Record<string, unknown>>
  /** BCP 47 language tag. */
  readonly locale?: string
}

/** Returns the values of the secret variables of a message, in written form. */
export function secretsOf({ variables, secretVariables = [] }: NotificationMessage): string[] {
  return secretVariables.map((name) => String(variables[name] ?? '')).filter((value) => value !== '')
}

export interface SendContext {
  /** Aborts when the caller's deadline passes or the product stops; the channel must then cancel the send. */
  readonly signal: AbortSignal
  /** An idempotent channel sends messages with the same key only once. */
  readonly idempotencyKey: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** True if all recipients want the message, according to their preferences. */
  readonly isWanted?: boolean
}

/** Response of a provider, for the operator. It must not contain signing secrets, tokens or request headers. */
export interface ProviderResponse {
  readonly provider?: string
  readonly providerCode?: string
  readonly providerMessage?: string
  /** Action for the operator: a text, or a catalogue key (`messages.<path>`), which the facade translates. */
  readonly hint?: string
}

/**
 * - `accepted`: the next hop accepted responsibility.
 * - `rejected`: the message can never be sent unchanged; a retry is useless.
 * - `deferred`: the message was not sent; retry later.
 * - `unknown`: the message may have been sent, for example after a timeout; only an idempotent channel may retry.
 */
export type DeliveryOutcome =
  | ({ readonly outcome: 'accepted'; readonly messageId?: string } & ProviderResponse)
  | ({ readonly outcome: 'rejected'; readonly errorCode: string; readonly errorMessage: string } & ProviderResponse)
  | ({
      readonly outcome: 'deferred'
      readonly errorCode: string
      readonly errorMessage: string
      /** Milliseconds to wait, if the provider specified them. */
      readonly retryAfterMs?: number
    } & ProviderResponse)
  | ({ readonly outcome: 'unknown'; readonly errorCode: string; readonly errorMessage: string } & ProviderResponse)

export type OutcomeName = DeliveryOutcome['outcome']

/** Attribute that a message may contain for one provider of a channel, as a form shows it. */
export interface ChannelAttribute {
  /** Name in the message, such as `webhook.acme.priority`. */
  readonly name: string
  readonly title: LocalizedText
  /** Values may also be written as text: `a,b` for a list, JSON for `object` and `objects` (a list of objects). */
  readonly type: 'text' | 'integer' | 'boolean' | 'list' | 'object' | 'objects'
  /** The allowed values. If absent, any value is allowed. */
  readonly values?: readonly string[]
  /** Smallest value of an integer, or smallest number of items of a list. `maximum` is the largest one. */
  readonly minimum?: number
  readonly maximum?: number
  /** True if the attribute contains a token or determines the recipient. A form must not set it. */
  readonly sensitive: boolean
}

/** A service behind a channel that messages may specify. */
export interface ChannelProvider {
  readonly code: string
  readonly displayName: LocalizedText
  /** Forms in which the provider can show a message. */
  readonly messageTypes: readonly string[]
  readonly attributes: readonly ChannelAttribute[]
  /**
   * Name of the required attribute that selects the recipient, such as a chat. If absent, the provider has a fixed
   * recipient.
   */
  readonly receiver?: string
}

/** Checks of a channel, in the order in which they run. They send nothing. */
export const channelChecks = ['configuration', 'address', 'connection', 'credentials'] as const
export type ChannelCheck = (typeof channelChecks)[number]

/** Configuration keys that a send requires. Contains names of keys only, no values. */
export interface ConfigNeeds {
  /** The most important keys are first. */
  readonly keys: readonly string[]
  /** Required keys without a value. */
  readonly missingKeys: readonly string[]
}

/** State of a channel or provider in this process. */
export interface ChannelCondition extends ConfigNeeds {
  /** True if the operator has disabled this provider; false when absent. */
  readonly isOff?: boolean
  /**
   * Milliseconds for which the provider is used only after others, or not at all, because it failed. Absent or 0: it is
   * used normally.
   */
  readonly restsForMs?: number
  /**
   * Milliseconds until the next message is accepted, because a limit is reached. Absent or 0: messages are accepted.
   */
  readonly limitedForMs?: number
}

/** Error of `verify`: the reason why a channel cannot send now, for the operator. Contains no secret. */
export class ChannelError extends Error {
  override readonly name = 'ChannelError'
  /** The failed check. */
  readonly check: ChannelCheck
  /** The checks that passed before. */
  readonly checked: readonly ChannelCheck[]
  readonly reason: LocalizedText
  /** Original message of the next hop or a library; may be empty. */
  readonly detail: string

  constructor(check: ChannelCheck, reason: LocalizedText, checked: readonly ChannelCheck[] = [], detail = '') {
    const text = localize(reason, 'en')
    super(detail === '' ? text : `${text} ${detail}`)
    this.check = check
    this.checked = checked
    this.reason = reason
    this.detail = detail
  }
}

/** Checks the name, because another copy of the kernel may have created it. */
export const isChannelError = (error: unknown): error is ChannelError =>
  error instanceof Error && error.name === 'ChannelError' && 'check' in error && 'reason' in error

/**
 * A channel that delivers messages. Contributed under its code, in lower case: `ctx.contribute(notificationChannel,
 * 'acme', channel)`.
 */
export interface NotificationChannel {
  /**
   * @example displayName: 'ACME SMS'
   */
  readonly displayName: LocalizedText
  /**
   * Supported kinds of recipients. An empty list means that the channel needs no recipient.
   *
   * @example recipientKinds: ['mobile']
   */
  readonly recipientKinds: readonly RecipientKind[]
  /**
   * @example traits: { idempotent: false, recipients: 'each' }
   */
  readonly traits: {
    /** True if the same idempotency key never sends twice, so that an `unknown` outcome may be retried. */
    readonly idempotent: boolean
    /**
     * `each`: the channel receives one recipient per send, so that every recipient has a separate outcome, as SMS
     * needs. `together`, the default: all recipients of a message, up to 1,000 at a time.
     */
    readonly recipients?: 'together' | 'each'
    /**
     * `as-written`: the channel receives subject and content unchanged, because it translates them when they are read.
     * `resolved`, the default: catalogue keys are replaced by texts in the language of the message.
     */
    readonly texts?: 'resolved' | 'as-written'
  }
  /**
   * False while the operator has disabled the channel. If absent, the channel is always enabled. Checked before every
   * send.
   *
   * @example enabled: () => true
   */
  enabled?(): boolean
  /**
   * Services behind the channel, for pages that send messages. Absent if a message cannot specify one.
   *
   * @example providers: () => [{ code: 'acme', displayName: 'ACME', messageTypes: ['text'], attributes: [] }]
   */
  providers?(): readonly ChannelProvider[]
  /**
   * Sends one message. A delivery failure is an outcome, not an exception.
   *
   * @example send: async ({ content }, { signal }) => ((await post(content, signal)) ? { outcome: 'accepted' } : rejected)
   */
  send(message: NotificationMessage, context: SendContext): Promise<DeliveryOutcome>
  /**
   * Checks without sending that the next hop can be reached with the current configuration. Must end when the signal
   * aborts. Returns the checks that passed; undefined means configuration and connection. Throws if the channel could
   * not send: a `ChannelError` with the reason in both languages, or another error, of which only the message is shown.
   * If this method is absent, only missing keys are reported.
   *
   * @param provider code of one provider; absent: the providers that a message without a provider would use
   *
   * @example verify: async (signal) => assert(await account(signal), 'The account is closed.')
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most channels return nothing
  verify?(signal: AbortSignal, provider?: string): Promise<readonly ChannelCheck[] | void>
  /**
   * Returns the keys that an operator has to set, and whether the channel is paused. Called for each view, so it must
   * return from memory. If this method is absent, the keys of the plugin are used, and none is missing.
   *
   * @param provider code of one provider; absent: the channel as a whole
   *
   * @example condition: () => ({ keys: [tokenKey], missingKeys: hasToken() ? [] : [tokenKey] })
   */
  condition?(provider?: string): ChannelCondition
}

const recipientKinds: readonly RecipientKind[] = [
  ...(['user', 'email', 'mobile', 'websocket-user', 'websocket-session', 'websocket-group'] as const),
  ...(['websocket-guest', 'social-openid', 'topic'] as const),
]

export const notificationChannel = extensionPoint<NotificationChannel>('notification.channel', {
  from: '@plinth/notification',
  names: shape.kebab,
  shape: shape.object<NotificationChannel>(
    {
      displayName: shape.localized,
      recipientKinds: shape.list(shape.among(recipientKinds)),
      traits: shape.object<NotificationChannel['traits']>(
        { idempotent: shape.flag },
        { recipients: shape.among(['together', 'each']), texts: shape.among(['resolved', 'as-written']) },
      ),
      send: shape.function,
    },
    { enabled: shape.function, providers: shape.function, verify: shape.function, condition: shape.function },
  ),
})
