import { type ChannelCheck, type ConfigNeeds, type DeliveryOutcome, service } from '@plinth/kernel'

/** Capabilities of document 2, "Attributes of the `social` channel". */
export const socialMessageTypes = ['official-template', 'official-kefu-text', 'miniapp-subscribe'] as const
export type SocialMessageType = (typeof socialMessageTypes)[number]

/** One message to one follower of an official account or user of a mini program. */
export interface SocialMessage {
  /** Code of an account in `platform.social.accounts`. */
  readonly accountCode: string
  readonly messageType: SocialMessageType
  /** Open ID of the recipient at that account. Leads to a person: never logged or stored in clear. */
  readonly toUser: string
  /** Needed but for `official-kefu-text`. */
  readonly templateId?: string
  /** Values of the template's fields; checked against the limits of their kinds. */
  readonly data: Readonly<Record<string, string>>
  /** Text of `official-kefu-text`. */
  readonly content: string
  /** Page that a tap on an official template opens. */
  readonly url?: string
  /** The same within 10 minutes for one recipient: WeChat sends an official template once. */
  readonly clientMessageId: string
  /** Customer-service account that the text comes from. */
  readonly kfAccount?: string
  /** Page of the mini program that a tap opens. */
  readonly page?: string
  /** `developer`, `trial` or `formal`. */
  readonly miniprogramState?: string
  /** BCP 47 language tag of a subscribe message. */
  readonly lang?: string
}

/** Sends through WeChat, and keeps a row per message in the outbound log of this plugin. */
export interface Social {
  /** Codes of the accounts that are filled in. */
  readonly accounts: readonly string[]
  needs(): ConfigNeeds
  /**
   * Proves that WeChat issues a token to every account, or has issued one that still holds; sends nothing. Throws as
   * `NotificationChannel.verify`, and names the account.
   */
  verify(signal: AbortSignal): Promise<readonly ChannelCheck[]>
  /**
   * Never throws for a failed delivery. What breaks a rule of WeChat is `rejected` before anything is sent, with the rule
   * in `errorMessage`. `unknown` when WeChat may have taken the message.
   */
  send(message: SocialMessage, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const social = service<Social>('social', { from: '@plinth/social' })
