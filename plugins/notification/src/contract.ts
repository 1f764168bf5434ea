import {
  type ChannelProvider,
  type LocalizedText,
  type NotificationMessage,
  type OutcomeName,
  type RecipientKind,
  service,
} from '@plinth/kernel'

/** A message without its id, which the service assigns. A subject, a content or a template is required. */
export type MessageDraft = Partial<Omit<NotificationMessage, 'id' | 'valueRanges' | 'replacement'>>

export interface SendOptions {
  /** A channel that is idempotent sends only one message for a key. Default: the assigned id of the message. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

export interface MultiSendOptions extends SendOptions {
  /** Codes of channels, in upper or lower case. Default: the default channel. */
  readonly channels?: readonly string[]
}

export interface EnqueueOptions {
  /** Codes of channels, in upper or lower case. Default: the default channel. */
  readonly channels?: readonly string[]
  /** 1 to 200 characters. A second call with the same key sends nothing and returns the id of the first message. */
  readonly idempotencyKey?: string
  /**
   * Time before which the message is not sent, in milliseconds since the epoch, at most 366 days ahead. Default:
   * immediately.
   */
  readonly notBefore?: number
  /** `critical` messages ignore quiet hours. Default: `normal`. */
  readonly priority?: 'normal' | 'critical'
  /** 1 to 200 characters. `Notification.cancel` cancels all messages with this key. */
  readonly cancelKey?: string
  /**
   * 1 to 200 characters, for a message with at most one recipient. The message replaces earlier messages to the recipient
   * with the same key: those that are queued are cancelled, and an inbox item is updated in place. A mail or a text message
   * that was already sent stays.
   */
  readonly replaceKey?: string
}

export interface CancelOptions {
  /** True: also cancels messages with this key that are enqueued later, until `expiresAt`. */
  readonly before?: boolean
  /** Milliseconds since the epoch, at most 30 days ahead. Required with `before`. */
  readonly expiresAt?: number
}

/** Result of a cancellation. It covers the 1,000 newest messages of the key. A second call returns the same result. */
export interface CancelResult {
  /** Number of messages of which nothing was sent. */
  readonly cancelled: number
  /** Messages of which a send had begun. Parts that have begun end normally. Other parts of the message do not begin. */
  readonly tooLate: readonly { readonly id: number; readonly messageId: string }[]
}

export interface EnqueuedMessage {
  readonly messageId: string
  /** Id in the list of messages. */
  readonly id: number
}

/**
 * Progress of an enqueued message. `sent`: accepted at least once, possibly sent (`unknown`), or no longer stored.
 * `pending`: it is still attempted. `failed`: the last attempt has ended, and no channel accepted it.
 */
export type MessageProgress = 'pending' | 'sent' | 'failed'

/** Result of a send on one channel, without secrets. */
export interface SendResult {
  readonly channel: string
  readonly success: boolean
  /**
   * `rejected`: a retry would fail too. `deferred`: not sent, a retry may succeed. `unknown`: possibly sent, so it is
   * retried automatically only on an idempotent channel.
   */
  readonly outcome: OutcomeName
  /** Id from the provider. If the provider returned none, the assigned id of the message. */
  readonly messageId: string
  /** Stable code; null on success. */
  readonly errorCode: string | null
  readonly errorMessage: string | null
  readonly provider?: string
  readonly providerCode?: string
  readonly providerMessage?: string
  readonly hint?: string
  /** Key of the text in `hint`, if the channel returned a key. */
  readonly hintKey?: string
  /** Milliseconds to wait before a retry, if the provider specified them. */
  readonly retryAfterMs?: number
  /** False if the message waits for a rate limit of the product, so that no server was called. Default: true. */
  readonly isAttempted?: boolean
  /** True if the product sends the message later automatically. */
  readonly queued?: boolean
  /**
   * True if nothing was sent, because notifications or the channel are off, or because no recipient wants the message.
   */
  readonly skipped?: boolean
}

export interface ChannelInfo {
  readonly code: string
  readonly displayName: LocalizedText
  readonly enabled: boolean
  readonly isDefault: boolean
  /** Kinds of recipients that the channel can reach. Empty if the channel needs no recipient. */
  readonly recipientKinds: readonly RecipientKind[]
  readonly providers: readonly ChannelProvider[]
}

/**
 * Sends messages through the loaded channels. `send` and `sendTo` throw `BusinessError` "400"
 * `notification.channel-unknown` or `notification.message-empty` before anything is sent. With a database, each send
 * has a row in the send log. Failing to write this row never makes the send fail.
 */
export interface Notification {
  /**
   * Sends a message and returns one result per channel, in the given order. A failed delivery is returned, never
   * thrown, and does not affect other channels.
   */
  send(draft: MessageDraft, options?: MultiSendOptions): Promise<readonly SendResult[]>
  /**
   * Like `send` on one channel, but throws if the message was not sent. Use it for notices that must not be lost.
   *
   * @throws BusinessError "503" if the message was not sent: `notification.delivery-failed`,
   * `notification.channel-disabled`, `notification.disabled` or `notification.unwanted`
   */
  sendTo(channel: string, draft: MessageDraft, options?: SendOptions): Promise<SendResult>
  /**
   * Stores a message for a process with the role `worker`, which sends it in parts and continues an interrupted part.
   * Joins the current transaction, so a rollback cancels the message. A template is used in the versions that are published
   * now, or in `templateVersions` of the draft. Requires `@plinth/database` and `@plinth/events`.
   *
   * @throws BusinessError "400" `notification.channel-unknown`, `notification.message-empty`,
   *   `notification.not-before-too-far`, or `notification.not-durable` if the message contains secrets or other content
   *   that must not be stored; RangeError for options out of range; PlinthError `PLINTH_NOTIFICATION_NO_QUEUE`
   */
  enqueue(draft: MessageDraft, options?: EnqueueOptions): Promise<EnqueuedMessage>
  /**
   * Returns the progress of an enqueued message. @param id `EnqueuedMessage.id`
   * @throws PlinthError `PLINTH_NOTIFICATION_NO_QUEUE`
   */
  progressOf(id: number): Promise<MessageProgress>
  /**
   * Cancels the enqueued messages with this `cancelKey`. Joins the current transaction.
   *
   * @throws BusinessError "404" `notification.key-unknown` if no message has the key, unless `before` is true; "400"
   *   `notification.cancel-expiry-invalid`; RangeError for a key out of range; PlinthError `PLINTH_NOTIFICATION_NO_QUEUE`
   */
  cancel(key: string, options?: CancelOptions): Promise<CancelResult>
  /** Returns the loaded channels, sorted by code. */
  channels(): readonly ChannelInfo[]
}

export const notification = service<Notification>('notification', { from: '@plinth/notification' })

/**
 * States of a message after a provider accepted it, from the lowest to the highest. A lower state never replaces a higher
 * one. `delayed`: the provider still tries. `failed`: the provider accepted the message and never tried the recipient.
 */
export const deliveryStates = ['queued', 'sent', 'delayed', 'delivered', 'failed', 'bounced', 'complained'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** `hard`: the address is wrong. `soft`: any other reason, for example a full mailbox. */
export type BounceKind = 'hard' | 'soft'

/** One report about a send. It finds the send by `reference`, or by `provider` and `messageId`. */
export interface DeliveryReport {
  readonly channel: string
  /** `sendReference` of the idempotency key of the send. */
  readonly reference?: string | undefined
  readonly provider?: string | undefined
  /** Id that the provider returned when it accepted the message. */
  readonly messageId?: string | undefined
  readonly state: DeliveryState
  /** Kind of a bounce. Default: `soft`. */
  readonly bounce?: BounceKind | undefined
  /** Time of the state, milliseconds since the epoch. */
  readonly at: number
  /** Text or code of the provider without secrets. Longer texts are cut to 255 characters. */
  readonly detail?: string | undefined
}

/** Sends whose state a provider reports. Without `provider`, all sends of the channel. */
export interface ReportedSends {
  readonly channel: string
  readonly provider?: string | undefined
}

/** Writes what became of sends to the send log. */
export interface SendDeliveries {
  /**
   * Stores a report in the row of its send. A send with the status `unknown` gets the status `success`, or `failed` for the
   * state `failed`. Nothing is ever sent. The same report again changes nothing. Joins the current transaction.
   *
   * @returns the id of the row; undefined if there is no row yet
   */
  apply(report: DeliveryReport): Promise<number | undefined>
  /**
   * Asks providers about sends with the status `unknown` that are due, and stores what they know. Sends nothing. Called by
   * the task `notification.send-log.settle`.
   */
  askProviders(signal: AbortSignal): Promise<void>
  /**
   * Declares which sends get reports. The send log shows such a send as `sent`, and after 72 hours without a report as
   * `unconfirmed`. Call it during setup; the function is called for each list.
   */
  expect(sends: () => readonly ReportedSends[]): void
}

export const sendDeliveries = service<SendDeliveries>('notification.send-deliveries', { from: '@plinth/notification' })
