import { type ChannelCheck, type DeliveryOutcome, type NeededConfigKeys, service } from '@plinth/kernel'

/** Message types (document 2 of the specification, "Attributes of the `social` channel"). */
export const socialMessageTypes = ['official-template', 'official-kefu-text', 'miniapp-subscribe'] as const
export type SocialMessageType = (typeof socialMessageTypes)[number]

/** A message to one follower of an official account, or one user of a mini program. */
export interface SocialMessage {
  /** Code of an account in `platform.social.accounts`. */
  readonly accountCode: string
  readonly messageType: SocialMessageType
  /** Open ID of the recipient at that account. It is personal data: never log or store it in plain text. */
  readonly toUser: string
  /** Id of the template. Required except for `official-kefu-text`. */
  readonly templateId?: string
  /** Values of the template fields. Each kind of field has its own limits. */
  readonly data: Readonly<Record<string, string>>
  /** Text of `official-kefu-text`. */
  readonly content: string
  /** Page that opens when the recipient taps an official template. */
  readonly url?: string
  /** The same for repeated attempts. WeChat sends an official template once per recipient and id within 10 minutes. */
  readonly clientMessageId: string
  /** Customer-service account that sends the text. */
  readonly kfAccount?: string
  /** Page of the mini program that opens when the recipient taps the message. */
  readonly page?: string
  /** Version of the mini program: `developer`, `trial` or `formal`. */
  readonly miniprogramState?: string
  /** BCP 47 language tag of a subscribe message. */
  readonly lang?: string
}

/** Sends messages with WeChat. Each message gets a row in the outbound log of this plugin. */
export interface Social {
  /** Codes of the configured accounts. */
  readonly accounts: readonly string[]
  needs(): NeededConfigKeys
  /**
   * Checks that every account has a valid token or can get one. Sends nothing. The errors are those of
   * `NotificationChannel.verify`. They contain the code of the account.
   */
  verify(signal: AbortSignal): Promise<readonly ChannelCheck[]>
  /**
   * Sends one message. A failure is returned, never thrown. A message that breaks a rule of WeChat is `rejected`
   * without being sent, with the rule in `errorMessage`. The outcome is `unknown` if WeChat may have accepted the
   * message.
   */
  send(message: SocialMessage, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const social = service<Social>('social', { from: '@plinth/social' })
