import { type LocalizedText, type NotificationMessage, type RecipientKind, service } from '@plinth/kernel'

/** What a caller writes; the facade assigns the id and fills in what is absent. Subject, content or template is needed. */
export type MessageDraft = Partial<Omit<NotificationMessage, 'id'>>

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

/** What became of a message on one channel (decision B25). Holds no secrets. */
export interface SendResult {
  readonly channel: string
  readonly success: boolean
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
  /** True when nothing was tried, because notifications or the channel are switched off. */
  readonly skipped?: boolean
}

export interface ChannelInfo {
  readonly code: string
  readonly displayName: LocalizedText
  readonly enabled: boolean
  readonly isDefault: boolean
  /** Empty: it needs no recipient. */
  readonly recipientKinds: readonly RecipientKind[]
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
  /** Loaded channels by code. */
  channels(): readonly ChannelInfo[]
}

/** The product's notifications. */
export const notification = service<Notification>('notification', { from: '@plinth/notification' })
