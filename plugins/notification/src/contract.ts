import {
  type ChannelProvider,
  type LocalizedText,
  type NotificationMessage,
  type OutcomeName,
  type RecipientKind,
  service,
} from '@plinth/kernel'

/** What a caller writes; the facade assigns the id and fills in what is absent. Subject, content or template is needed. */
export type MessageDraft = Partial<Omit<NotificationMessage, 'id' | 'valueRanges'>>

export interface SendOptions {
  /** Same key, same message: an idempotent channel sends it once. Absent: the id that the facade assigns. */
  readonly idempotencyKey?: string
  /** Gives the send up when it aborts. */
  readonly signal?: AbortSignal
}

export interface MultiSendOptions extends SendOptions {
  /** Channel codes, in any case, duplicates count once. Absent or empty: the default channel. */
  readonly channels?: readonly string[]
}

export interface EnqueueOptions {
  /** Channel codes, in any case, duplicates count once. Absent or empty: the default channel. */
  readonly channels?: readonly string[]
  /** 1 to 200 characters. Same key, same message: a second call answers the id of the first and adds nothing. */
  readonly idempotencyKey?: string
  /** Milliseconds since the epoch, at most 366 days ahead: nothing is sent before. Absent or past: at once. */
  readonly notBefore?: number
  /** `critical` is sent in quiet hours too. `normal` by default. */
  readonly priority?: 'normal' | 'critical'
}

/** A message that will be sent. */
export interface EnqueuedMessage {
  /** As the send log and the list of messages name it. */
  readonly messageId: string
}

/** What became of a message on one channel (decision B25). Holds no secrets. */
export interface SendResult {
  readonly channel: string
  readonly success: boolean
  /**
   * `accepted` on success. Otherwise `rejected`: trying again is useless; `deferred`: not sent, may be tried again, also of
   * what is skipped; `unknown`: it may or may not have been sent, so nothing sends it again by itself unless its channel is
   * idempotent.
   */
  readonly outcome: OutcomeName
  /** The provider's id when it gave one, otherwise the id that the facade assigned. */
  readonly messageId: string
  /** Stable code of the failure, `null` on success. */
  readonly errorCode: string | null
  readonly errorMessage: string | null
  readonly provider?: string
  readonly providerCode?: string
  readonly providerMessage?: string
  /** What the operator can do about it. */
  readonly hint?: string
  /** Milliseconds to wait before trying again, when the provider said so. */
  readonly retryAfterMs?: number
  /** True when nothing was tried: notifications or the channel are switched off, or no recipient wants the channel. */
  readonly skipped?: boolean
}

export interface ChannelInfo {
  readonly code: string
  readonly displayName: LocalizedText
  readonly enabled: boolean
  readonly isDefault: boolean
  /** Empty: it needs no recipient. */
  readonly recipientKinds: readonly RecipientKind[]
  /** Services behind it that a message may name. */
  readonly providers: readonly ChannelProvider[]
}

/**
 * Sends messages; callers bind to no channel implementation. Both operations throw `BusinessError` `400` with reason
 * `notification.channel-unknown` or `notification.message-empty` before anything is sent. In a product with a database
 * every send is a row of the send log, which is written beside it: that neither fails nor delays a send.
 */
export interface Notification {
  /**
   * Tries every channel and answers one result per channel, in the given order. A channel that fails, throws or hangs
   * stops no other; a delivery failure never throws.
   */
  send(draft: MessageDraft, options?: MultiSendOptions): Promise<readonly SendResult[]>
  /**
   * Sends to one channel, for critical notices: whatever keeps the message from being sent throws `BusinessError` `503`
   * with reason `notification.delivery-failed`, `notification.channel-disabled` or `notification.disabled`.
   */
  sendTo(channel: string, draft: MessageDraft, options?: SendOptions): Promise<SendResult>
  /**
   * Keeps a message to be sent by a process of the role `worker`: it survives the end of this process, goes out in parts of up
   * to 1,000 recipients, and a part that was cut off goes on where it was. Joins the transaction around it: rolled back,
   * nothing is sent. Needs `@plinth/database` and `@plinth/events` in the product.
   *
   * Throws `BusinessError` `400` with reason `notification.channel-unknown`, `notification.message-empty`,
   * `notification.not-before-too-far`, or `notification.not-durable`: it has secret variables or holds what may not be stored (the
   * rules of a send log's payload); `RangeError` for other options outside their ranges; PlinthError `PLINTH_NOTIFICATION_NO_QUEUE`.
   */
  enqueue(draft: MessageDraft, options?: EnqueueOptions): Promise<EnqueuedMessage>
  /** Loaded channels by code. */
  channels(): readonly ChannelInfo[]
}

/** The product's notifications. */
export const notification = service<Notification>('notification', { from: '@plinth/notification' })
