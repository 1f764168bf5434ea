import { type ChannelCheck, type ConfigNeeds, type DeliveryOutcome, service } from '@plinth/kernel'

/** Message types of document 2, "Attributes of the `social` channel". */
export const socialMessageTypes = ['official-template', 'official-kefu-text', 'miniapp-subscribe'] as const
export type SocialMessageType = (typeof socialMessageTypes)[number]

/** One message to one follower of an official account or user of a mini program. */
export interface SocialMessage {
  /** Code of an account in `platform.social.accounts`. */
  readonly accountCode: string
  readonly messageType: SocialMessageType
  /** Open ID of the recipient at that account. It is personal data: never log or store it in plain text. */
  readonly toUser: string
  /** Required except for `official-kefu-text`. */
  readonly templateId?: string
  /** Values of the template fields. They are checked against the limits of their kinds. */
  readonly data: Readonly<Record<string, string>>
  /** Text of `official-kefu-text`. */
  readonly content: string
  /** Page that a tap on an official template opens. */
  readonly url?: string
  /**
   * Equal for repeated attempts. WeChat sends an official template only once per recipient and id within 10 minutes.
   */
  readonly clientMessageId: string
  /** Customer-service account that sends the text. */
  readonly kfAccount?: string
  /** Page of the mini program that a tap opens. */
  readonly page?: string
  /** `developer`, `trial` or `formal`. */
  readonly miniprogramState?: string
  /** BCP 47 language tag of a subscribe message. */
  readonly lang?: string
}

/** Sends messages with WeChat and stores a row per message in the outbound log of this plugin. */
export interface Social {
  /** Codes of the configured accounts. */
  readonly accounts: readonly string[]
  needs(): ConfigNeeds
  /**
   * Checks that every account has a valid token or that WeChat issues one. Sends nothing. Throws like
   * `NotificationChannel.verify`, with the account.
   */
  verify(signal: AbortSignal): Promise<readonly ChannelCheck[]>
  /**
   * Never throws for a failed delivery. A message that breaks a rule of WeChat is `rejected` before it is sent, with
   * the rule in `errorMessage`. The outcome is `unknown` if WeChat may have accepted the message.
   */
  send(message: SocialMessage, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const social = service<Social>('social', { from: '@plinth/social' })
