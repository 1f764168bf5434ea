import {
  type ChannelProvider,
  type LocalizedText,
  type NotificationMessage,
  type OutcomeName,
  type RecipientKind,
  service,
} from '@plinth/kernel'

/**
 * A message without its id, which the service assigns. A subject, a content or a template is required; all else has
 * default values.
 */
export type MessageDraft = Partial<Omit<NotificationMessage, 'id' | 'valueRanges'>>

export interface SendOptions {
  /** An idempotent channel sends messages with the same key only once. Default: the assigned id. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

export interface MultiSendOptions extends SendOptions {
  /** Channel codes in any case; duplicates are ignored. Default: the default channel. */
  readonly channels?: readonly string[]
}

export interface EnqueueOptions {
  /** Channel codes in any case; duplicates are ignored. Default: the default channel. */
  readonly channels?: readonly string[]
  /** 1 to 200 characters. A second call with the same key returns the id of the first message and does nothing else. */
  readonly idempotencyKey?: string
  /** Earliest time of the send in milliseconds since the epoch, at most 366 days ahead. Default: immediately. */
  readonly notBefore?: number
  /** `critical` messages are also sent in quiet hours. Default: `normal`. */
  readonly priority?: 'normal' | 'critical'
}

export interface EnqueuedMessage {
  /** Id of the message in the send log and in the list of messages. */
  readonly messageId: string
}

/** Result of a message on one channel (decision B25). Contains no secrets. */
export interface SendResult {
  readonly channel: string
  readonly success: boolean
  /**
   * `accepted` on success. `rejected`: a retry would fail too. `deferred`: not sent, a retry may succeed. `unknown`:
   * possibly sent, so only an idempotent channel retries automatically.
   */
  readonly outcome: OutcomeName
  /** Id from the provider, or else the assigned id. */
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
  /** True if nothing was sent: notifications or the channel are off, or no recipient wants the channel. */
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
 * Sends messages through the channels that the product has loaded. `send` and `sendTo` throw `BusinessError` "400"
 * `notification.channel-unknown` or `notification.message-empty` before anything is sent. With a database, each send
 * has a row in the send log. A failed write of this row never makes the send fail, and delays it only briefly.
 */
export interface Notification {
  /**
   * Sends through all channels. Returns one result per channel, in the given order. A failed delivery is returned,
   * never thrown, and does not affect other channels.
   */
  send(draft: MessageDraft, options?: MultiSendOptions): Promise<readonly SendResult[]>
  /**
   * Sends through one channel. For notices that must not be lost.
   *
   * @throws BusinessError "503" if the message was not sent: `notification.delivery-failed`,
   *   `notification.channel-disabled`, `notification.disabled` or `notification.unwanted`
   */
  sendTo(channel: string, draft: MessageDraft, options?: SendOptions): Promise<SendResult>
  /**
   * Stores a message that a process with the role `worker` sends. It is sent in parts of up to 1,000 recipients (5,000
   * on an idempotent channel). After a crash, an interrupted part continues where it stopped. Joins the current
   * transaction, so a rollback cancels the message. Requires `@plinth/database` and `@plinth/events`.
   *
   * @throws BusinessError "400" `notification.channel-unknown`, `notification.message-empty`,
   *   `notification.not-before-too-far`, or `notification.not-durable` if the message contains secrets or other content
   *   that must not be stored; RangeError for options out of range; PlinthError `PLINTH_NOTIFICATION_NO_QUEUE`
   */
  enqueue(draft: MessageDraft, options?: EnqueueOptions): Promise<EnqueuedMessage>
  /** Returns the loaded channels, sorted by code. */
  channels(): readonly ChannelInfo[]
}

export const notification = service<Notification>('notification', { from: '@plinth/notification' })
