import { createHash } from 'node:crypto'
import { type LocalizedText, localize } from '@plinth/config-schema'
import { shape } from '@plinth/config-schema/shapes'
import { extensionPoint } from '../refs.ts'

/**
 * Recipient of a message (document 2 of the specification, "Recipient kinds"). In addition, `all-users`: all users who
 * exist when the message is sent.
 */
export type Recipient =
  | { readonly kind: 'user'; readonly userId: number }
  | { readonly kind: 'all-users' }
  | { readonly kind: 'email'; readonly address: string }
  | { readonly kind: 'mobile'; readonly number: string }
  | { readonly kind: 'websocket-user'; readonly userId: number }
  | { readonly kind: 'websocket-session'; readonly sessionId: string }
  | { readonly kind: 'websocket-group'; readonly group: string }
  | { readonly kind: 'websocket-guest' }
  | { readonly kind: 'social-openid'; readonly openId: string }
  | { readonly kind: 'topic'; readonly topic: string }

export type RecipientKind = Recipient['kind']

/** A part of a text: start (inclusive) and end (exclusive) in UTF-16 units. */
export type TextRange = readonly [start: number, end: number]

/** A file on a disk of `@plinth/storage`. The HTML of the message can show it at `cid:<contentId>`. */
export interface MessageFile {
  readonly name: string
  readonly disk: string
  readonly path: string
  /** `type/subtype`. Default: by the ending of the name. */
  readonly contentType?: string | undefined
  readonly contentId?: string | undefined
}

/** One message, ready to send (document 2 of the specification, "Message"). */
export interface NotificationMessage {
  /** Unique id. The notification service assigns it. */
  readonly id: string
  readonly subject: string
  readonly content: string
  /**
   * Ranges of subject and content that contain values of variables, in ascending order without overlap. A channel that
   * supports markup shows these ranges literally. Absent if the message was not rendered from a template.
   */
  readonly valueRanges?: { readonly subject: readonly TextRange[]; readonly content: readonly TextRange[] }
  /**
   * The content as HTML, for channels that show HTML. Other channels send `content`. The author of the HTML must have
   * escaped user input.
   */
  readonly html?: string
  readonly template?: string
  /**
   * Published versions of the template when the message was stored, by the id of the template. A later change of the
   * template does not alter the message. Absent: the version that is published when the message is sent.
   */
  readonly templateVersions?: Readonly<Record<string, number>>
  /**
   * Files for channels that send files, such as `mail`; at send, also those of the template. Only their place is stored
   * with a message that waits. The attribute `attachments` is for the inbox too.
   */
  readonly files?: readonly MessageFile[]
  readonly variables: Readonly<Record<string, string | number | boolean | null>>
  /**
   * Names of variables with secret values, such as a one-time code. Subject and content contain these values as plain
   * text. Logs, results and stored records must not contain them. Mask them with `redact(text, secretsOf(message))`.
   */
  readonly secretVariables?: readonly string[]
  readonly recipients: readonly Recipient[]
  /**
   * Values for the channel only. They may be stored with the send log, so they must not contain keys, tokens or
   * passwords.
   */
  readonly attributes: Readonly<Record<string, unknown>>
  /** BCP 47 language tag. */
  readonly locale?: string
  /** Time zone of the reader, for dates in templates: a name in the IANA time zone database. */
  readonly timeZone?: string
  /** Name of the language and time zone that the recipients have chosen. Absent if the message does not depend on them. */
  readonly readerGroup?: string
  /**
   * The message replaces an earlier one with the same key on devices that can do this. Of two messages, the one with the
   * larger `at` (milliseconds since the epoch) applies.
   */
  readonly replacement?: { readonly key: string; readonly at: number }
}

/** Returns the values of the secret variables of a message as texts. */
export function secretsOf({ variables, secretVariables = [] }: NotificationMessage): string[] {
  return secretVariables.map((name) => String(variables[name] ?? '')).filter((value) => value !== '')
}

export interface SendContext {
  /** Aborts when the deadline of the caller passes or the product stops. The channel must then cancel the send. */
  readonly signal: AbortSignal
  /** An idempotent channel sends messages with the same key only once. */
  readonly idempotencyKey: string
  /** Number of this attempt, starting with 1. */
  readonly attempt: number
  /** True if the preferences of all recipients allow the message. */
  readonly isWanted?: boolean
}

/**
 * Returns the own reference of a send: 40 hexadecimal characters that depend only on the idempotency key. Channels pass it to
 * their provider, for example in `Message-ID`, so that a later report about the message finds the send.
 */
export const sendReference = (idempotencyKey: string): string =>
  createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 40)

/** Response of a provider, shown to the operator. It must not contain secrets, tokens or request headers. */
export interface ProviderResponse {
  readonly provider?: string
  readonly providerCode?: string
  readonly providerMessage?: string
  /** What the operator can do: a text, or a key of a translated text (`messages.<path>`). */
  readonly hint?: string
}

/**
 * The result of a send.
 *
 * - `accepted`: the next hop has accepted the message.
 * - `rejected`: the message can never be sent unchanged, so a retry is useless.
 * - `deferred`: the message was not sent. Retry later.
 * - `unknown`: the message may have been sent, for example after a timeout. Only an idempotent channel may retry.
 */
export type DeliveryOutcome =
  | ({ readonly outcome: 'accepted'; readonly messageId?: string } & ProviderResponse)
  | ({ readonly outcome: 'rejected'; readonly errorCode: string; readonly errorMessage: string } & ProviderResponse)
  | ({
      readonly outcome: 'deferred'
      readonly errorCode: string
      readonly errorMessage: string
      /** Milliseconds to wait before the next attempt, if the provider specified them. */
      readonly retryAfterMs?: number
      /**
       * False if a rate limit of the product itself does not allow the message yet, so that no server was called. The
       * wait is not counted as an attempt. Default: true.
       */
      readonly isAttempted?: boolean
    } & ProviderResponse)
  | ({ readonly outcome: 'unknown'; readonly errorCode: string; readonly errorMessage: string } & ProviderResponse)

export type OutcomeName = DeliveryOutcome['outcome']

/** An attribute that a message may contain for one provider of a channel. Forms show a field for it. */
export interface ChannelAttribute {
  /** Name of the attribute in a message, such as `webhook.acme.priority`. */
  readonly name: string
  readonly title: LocalizedText
  /**
   * Type of the value. A value may also be a text: `a,b` for a list, JSON for `object` and for `objects` (a list of
   * objects).
   */
  readonly type: 'text' | 'integer' | 'boolean' | 'list' | 'object' | 'objects'
  /** The allowed values. If absent, all values are allowed. */
  readonly values?: readonly string[]
  /** Minimum of an integer, or minimum number of items in a list. `maximum` is the upper limit. */
  readonly minimum?: number
  readonly maximum?: number
  /** True if the attribute contains a token or determines the recipient. Forms must not offer it. */
  readonly sensitive: boolean
}

/** A service behind a channel. A message may select it. */
export interface ChannelProvider {
  readonly code: string
  readonly displayName: LocalizedText
  /** Types of messages that the provider supports, such as plain text. */
  readonly messageTypes: readonly string[]
  readonly attributes: readonly ChannelAttribute[]
  /**
   * Name of the required attribute that selects the recipient, such as a chat. If absent, the recipient is fixed in the
   * configuration.
   */
  readonly receiver?: string
}

/** The checks of a channel in the order in which they run. They send no message. */
export const channelChecks = ['configuration', 'address', 'connection', 'credentials'] as const
export type ChannelCheck = (typeof channelChecks)[number]

/** Names of the configuration keys that a channel needs. Contains no values. */
export interface NeededConfigKeys {
  /** Needed keys, the most important ones first. */
  readonly keys: readonly string[]
  /** Needed keys that have no value. */
  readonly missingKeys: readonly string[]
}

/** State of a channel or of a provider in this process. */
export interface ChannelReadiness extends NeededConfigKeys {
  /** True if the operator has disabled the channel or the provider. Default: false. */
  readonly isOff?: boolean
  /**
   * Milliseconds for which the channel or the provider is avoided after a failure. Absent or 0 if it is used normally.
   */
  readonly restsForMs?: number
  /** Milliseconds until messages are accepted again after a rate limit. Absent or 0 if messages are accepted now. */
  readonly limitedForMs?: number
}

/** Error of `verify`: the reason why a channel cannot send now. It is shown to the operator and contains no secret. */
export class ChannelError extends Error {
  override readonly name = 'ChannelError'
  /** The check that failed. */
  readonly check: ChannelCheck
  /** The checks that succeeded before the failed check. */
  readonly checked: readonly ChannelCheck[]
  readonly reason: LocalizedText
  /** Original message of the next hop or of a library; may be empty. */
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

/**
 * Returns true for every channel error. Compares the name instead of the class, because another copy of the kernel may
 * have created the error.
 */
export const isChannelError = (error: unknown): error is ChannelError =>
  error instanceof Error && error.name === 'ChannelError' && 'check' in error && 'reason' in error

/** Server and address that a message is sent to. */
export interface ChannelTarget {
  /**
   * Name of the server, without secrets. If a server does not respond several times, messages to it wait for a short
   * time. A server that a message itself specifies must have its own name, so that it does not affect other messages.
   */
  readonly server: string
  /**
   * Address at the server, such as a chat. Queued messages with the same address are sent one after another in the order
   * in which they were queued. It is only stored as a hash.
   */
  readonly address?: string
}

/**
 * A way to deliver messages. A plugin contributes it under its lower-case code: `ctx.contribute(notificationChannel,
 * 'acme', channel)`.
 */
/** A send about which a channel asks its provider. */
export interface SentMessage {
  /** `sendReference` of the idempotency key of the send. */
  readonly reference: string
  /** Time of the send, milliseconds since the epoch. */
  readonly sentAt: number
  readonly signal: AbortSignal
}

/** State of a message at the provider. */
export interface ProviderReport {
  readonly provider: string
  /** Id of the message at the provider. */
  readonly messageId?: string
  readonly state: 'sent' | 'delivered' | 'bounced'
  /** Code of the provider without secrets. */
  readonly detail?: string
}

export interface NotificationChannel {
  /**
   * @example displayName: 'ACME SMS'
   */
  readonly displayName: LocalizedText
  /**
   * Supported kinds of recipients. An empty list means that messages need no recipient.
   *
   * @example recipientKinds: ['mobile']
   */
  readonly recipientKinds: readonly RecipientKind[]
  /**
   * @example traits: { idempotent: false, recipients: 'each' }
   */
  readonly traits: {
    /**
     * True if messages with the same idempotency key are sent only once, so that a send may be repeated after the
     * outcome `unknown`.
     */
    readonly idempotent: boolean
    /**
     * `each`: the channel receives one recipient per call, so that each recipient has a separate outcome, for example
     * for SMS. `together` (default): the channel receives up to 1,000 recipients of a message per call.
     */
    readonly recipients?: 'together' | 'each'
    /**
     * `as-written`: the channel receives keys of texts unchanged, because it translates them when users read the
     * message. `resolved` (default): keys are replaced by texts in the language of the message.
     */
    readonly texts?: 'resolved' | 'as-written'
  }
  /**
   * Returns false while the operator has disabled the channel. Called before each send. If absent, the channel is
   * always enabled.
   *
   * @example enabled: () => true
   */
  enabled?(): boolean
  /**
   * Returns the providers that a message may select. Pages for sending messages show them. Absent if a message cannot
   * select one.
   *
   * @example providers: () => [{ code: 'acme', displayName: 'ACME', messageTypes: ['text'], attributes: [] }]
   */
  providers?(): readonly ChannelProvider[]
  /**
   * Sends one message. A failed delivery is an outcome, not an exception.
   *
   * @example send: async ({ content }, { signal }) => ((await isPosted(content, signal)) ? { outcome: 'accepted' } : rejected)
   */
  send(message: NotificationMessage, context: SendContext): Promise<DeliveryOutcome>
  /**
   * Asks the provider what became of a message whose outcome is unknown. Must send nothing, and end when the signal aborts.
   * Returns undefined if the provider does not know the message. Absent if providers offer no such request.
   *
   * @example ask: async (_message, { reference }) => (await isAtAcme(reference)) ? { provider: 'acme', state: 'sent' } : undefined
   */
  ask?(message: NotificationMessage, sent: SentMessage): Promise<ProviderReport | undefined>
  /**
   * Returns where the message goes, from its attributes and the configuration. Must not wait for a server. If this method
   * is absent, the server is the channel or, if the message selects one, its provider, and messages have no order.
   *
   * @example target: ({ attributes }) => ({ server: 'acme', address: String(attributes['acme.chat']) })
   */
  target?(message: NotificationMessage): ChannelTarget | undefined
  /**
   * Returns those of the users whom the channel has an address for. Operators see the number of the others before they
   * send a message. If absent, the channel needs no address.
   *
   * @example reachable: async (userIds) => new Set(userIds)
   */
  reachable?(userIds: readonly number[]): Promise<ReadonlySet<number>>
  /**
   * Returns the addresses of recipients, in the form in which the channel uses them. Recipients without an address are left
   * out. The product compares the addresses with its suppression list before each send. If this method is absent, the list
   * does not apply to the channel. Only for channels with one recipient per call.
   *
   * @example addresses: async (recipients) => acmeNumbersOf(recipients)
   */
  addresses?(recipients: readonly Recipient[]): Promise<ReadonlyMap<Recipient, string>>
  /**
   * Checks whether the channel could send now, without sending a message. Must end when the signal aborts, after 10
   * seconds. Returns the successful checks; undefined means configuration and connection. Throws if the channel could
   * not send: a `ChannelError` with the reason in both languages, or another error, whose message is shown. If this
   * method is absent, only missing keys are reported.
   *
   * @param provider code of one provider; if absent, the check covers the providers of a message that selects none
   *
   * @example verify: async (signal) => assert(await account(signal), 'The account is closed.')
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most channels return nothing
  verify?(signal: AbortSignal, provider?: string): Promise<readonly ChannelCheck[] | void>
  /**
   * Returns the needed keys, and whether the channel is paused. It is called for each view of a page, so it must not
   * wait for a server. If this method is absent, the keys of the plugin are shown, and none is reported as missing.
   *
   * @param provider code of one provider; if absent, the result is about the whole channel
   *
   * @example condition: () => ({ keys: [tokenKey], missingKeys: hasToken() ? [] : [tokenKey] })
   */
  condition?(provider?: string): ChannelReadiness
}

const recipientKinds: readonly RecipientKind[] = [
  'user',
  'all-users',
  'email',
  'mobile',
  'websocket-user',
  'websocket-session',
  'websocket-group',
  'websocket-guest',
  'social-openid',
  'topic',
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
    {
      enabled: shape.function,
      providers: shape.function,
      ask: shape.function,
      target: shape.function,
      reachable: shape.function,
      addresses: shape.function,
      verify: shape.function,
      condition: shape.function,
    },
  ),
})
