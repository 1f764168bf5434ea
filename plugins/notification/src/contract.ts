import {
  type ChannelProvider,
  type LocalizedText,
  type NotificationMessage,
  type OutcomeName,
  type RecipientKind,
  service,
} from '@plinth/kernel'

/** A message of a caller. The facade assigns the id and default values. Subject, content or template is required. */
export type MessageDraft = Partial<Omit<NotificationMessage, 'id' | 'valueRanges'>>

export interface SendOptions {
  /** An idempotent channel sends messages with the same key only once. Default: the id that the facade assigns. */
  readonly idempotencyKey?: string
  /** Aborts the send. */
  readonly signal?: AbortSignal
}

export interface MultiSendOptions extends SendOptions {
  /** Channel codes, case-insensitive and without duplicates. Default: the default channel. */
  readonly channels?: readonly string[]
}

export interface EnqueueOptions {
  /** Channel codes, case-insensitive and without duplicates. Default: the default channel. */
  readonly channels?: readonly string[]
  /**
   * 1 to 200 characters. A second call with the same key returns the id of the first message and has no other effect.
   */
  readonly idempotencyKey?: string
  /** Earliest time of the send, milliseconds since the epoch, at most 366 days ahead. Default: immediately. */
  readonly notBefore?: number
  /** `critical` messages are also sent in quiet hours. Default: `normal`. */
  readonly priority?: 'normal' | 'critical'
}

/** A message that a worker will send. */
export interface EnqueuedMessage {
  /** Id of the message in the send log and in the list of messages. */
  readonly messageId: string
}

/** Result of a message on one channel (decision B25), without secrets. */
export interface SendResult {
  readonly channel: string
  readonly success: boolean
  /**
   * `accepted` on success. `rejected`: a retry is useless. `deferred`: not sent or skipped, a retry is possible.
   * `unknown`: the message may have been sent, so it is only retried automatically on an idempotent channel.
   */
  readonly outcome: OutcomeName
  /** Id that the provider returned; otherwise the id that the facade assigned. */
  readonly messageId: string
  /** Stable code of the failure; null on success. */
  readonly errorCode: string | null
  readonly errorMessage: string | null
  readonly provider?: string
  readonly providerCode?: string
  readonly providerMessage?: string
  /** Advice for the operator. */
  readonly hint?: string
  /** Milliseconds to wait before a retry, if the provider specified them. */
  readonly retryAfterMs?: number
  /** True if nothing was sent, because notifications or the channel are off, or no recipient wants the channel. */
  readonly skipped?: boolean
}

export interface ChannelInfo {
  readonly code: string
  readonly displayName: LocalizedText
  readonly enabled: boolean
  readonly isDefault: boolean
  /** Empty if the channel needs no recipient. */
  readonly recipientKinds: readonly RecipientKind[]
  /** Providers that a message may select. */
  readonly providers: readonly ChannelProvider[]
}

/**
 * Sends messages without a dependency on channel implementations. `send` and `sendTo` throw `BusinessError` "400"
 * `notification.channel-unknown` or `notification.message-empty` before anything is sent. In a product with a database,
 * each send has a row in the send log. Writing the row never makes a send fail, and a send waits for it only for a
 * short time.
 */
export interface Notification {
  /**
   * Sends through all channels and returns one result per channel, in the given order. A channel that fails, throws or
   * times out does not affect the others. A failed delivery never throws.
   */
  send(draft: MessageDraft, options?: MultiSendOptions): Promise<readonly SendResult[]>
  /**
   * Sends through one channel, for critical notices.
   *
   * @throws BusinessError "503" if the message was not sent: `notification.delivery-failed`,
   *   `notification.channel-disabled`, `notification.disabled` or `notification.unwanted`
   */
  sendTo(channel: string, draft: MessageDraft, options?: SendOptions): Promise<SendResult>
  /**
   * Stores a message, which a process with the role `worker` sends. The message survives a crash of this process. It is
   * sent in parts of up to 1,000 recipients (5,000 on an idempotent channel), and an interrupted part continues where
   * it stopped. Joins the current transaction, so a rollback also cancels the message. The product needs
   * `@plinth/database` and `@plinth/events`.
   *
   * @throws BusinessError "400" `notification.channel-unknown`, `notification.message-empty`,
   *   `notification.not-before-too-far`, or `notification.not-durable` if the message has secret variables or other
   *   content that must not be stored (rules of the payload of the send log); RangeError for options out of range;
   *   PlinthError `PLINTH_NOTIFICATION_NO_QUEUE`
   */
  enqueue(draft: MessageDraft, options?: EnqueueOptions): Promise<EnqueuedMessage>
  /** Returns the loaded channels, sorted by code. */
  channels(): readonly ChannelInfo[]
}

/** The notifications of the product. */
export const notification = service<Notification>('notification', { from: '@plinth/notification' })
