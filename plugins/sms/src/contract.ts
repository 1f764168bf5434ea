import {
  type ChannelCheck,
  type ConfigNeeds,
  type DeliveryOutcome,
  extensionPoint,
  type LocalizedText,
  service,
  shape,
} from '@plinth/kernel'

/** One text message to one telephone. */
export interface SmsMessage {
  /** E.164, or as it is dialled in the country of `platform.sms.country-code`; blanks, dots, brackets and hyphens are ignored. */
  readonly to: string
  /** Sent by drivers that send free text, where no code of their company belongs to the template. */
  readonly content: string
  /** Code of the product's template; `platform.sms.templates` maps it to the code of each company. */
  readonly template?: string
  /** Goes before `template`: a code that is mapped in the same way, or the code of one company, which no other company gets. */
  readonly templateCode?: string
  /** Values of the template, in the order of its placeholders: Tencent Cloud knows them by place, Aliyun by name. */
  readonly params?: Readonly<Record<string, string>>
  /**
   * Signature in front of the text, mapped for each company by `platform.sms.sign-names`, otherwise as it is written; absent: the one
   * of the driver's configuration.
   */
  readonly signName?: string
  /** Code of a driver; absent: `platform.sms.driver`. */
  readonly driver?: string
  /** What the driver's company repeats in its receipt, at most 64 characters: the id of the message. */
  readonly reference: string
}

/** What a driver gets: checked, the number in E.164, template code and signature as its company knows them. */
export type SmsRequest = Required<Omit<SmsMessage, 'driver' | 'template' | 'templateCode' | 'signName'>> &
  Pick<SmsMessage, 'templateCode' | 'signName'>

/** A way to send text messages, contributed under its code: `ctx.contribute(smsDriver, 'acme', driver)`. */
export interface SmsDriver {
  readonly displayName: LocalizedText
  /** Form of the template codes of its company. A code of another form that is not mapped is not passed on. Absent: any form. */
  readonly templateCodes?: RegExp
  /** False while its keys are not filled in. */
  isConfigured(): boolean
  /** Names of its keys; absent: it has none that anybody must fill in. */
  needs?(): ConfigNeeds
  /**
   * Asks the company whether it knows the account, without sending; answers and throws as `NotificationChannel.verify`. Absent:
   * the company has no such question.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: as of a channel
  verify?(signal: AbortSignal): Promise<readonly ChannelCheck[] | void>
  /**
   * Sends one message. A failure is an outcome, not an exception. `unknown` when the company may have taken the message:
   * none of them sends a repeated request once only, so nobody sends it again by itself.
   */
  send(request: SmsRequest, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const smsDriver = extensionPoint<SmsDriver>('sms.driver', {
  from: '@plinth/sms',
  names: shape.kebab,
  shape: shape.object<SmsDriver>(
    { displayName: shape.localized, isConfigured: shape.function, send: shape.function },
    { templateCodes: shape.anyObject, needs: shape.function, verify: shape.function },
  ),
})

/**
 * Sends text messages (document 2, channel `sms`). A call of this service is in no send log; the channel `sms` calls it with
 * one.
 */
export interface Sms {
  /** Whether the driver of the configuration can send. */
  readonly isReady: boolean
  /** Codes of the loaded drivers that are configured. */
  readonly drivers: readonly string[]
  /** Keys of the facility and of the driver of the configuration. */
  needs(): ConfigNeeds
  /**
   * Whether a driver could send, as far as its company can be asked; answers and throws as `NotificationChannel.verify`.
   *
   * @param driver its code; absent: the driver of the configuration
   */
  verify(signal: AbortSignal, driver?: string): Promise<readonly ChannelCheck[]>
  /** Never throws for a failed delivery. A number that is none, and a driver that is not there, are `rejected`. */
  send(message: SmsMessage, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const sms = service<Sms>('sms', { from: '@plinth/sms' })
