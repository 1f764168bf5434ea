import {
  type ChannelCheck,
  type ConfigNeeds,
  type DeliveryOutcome,
  extensionPoint,
  type LocalizedText,
  service,
  shape,
} from '@plinth/kernel'

/** A text message to one telephone number. */
export interface SmsMessage {
  /**
   * In E.164 format, or as dialled in the country of `platform.sms.country-code`. Blanks, dots, brackets and hyphens
   * are ignored.
   */
  readonly to: string
  /** Text for drivers that support free text. It is sent if the provider has no template. */
  readonly content: string
  /** Template code of the product. `platform.sms.templates` maps it to the code of each provider. */
  readonly template?: string
  /** Overrides `template`: another code to map, or the code of one provider. Other providers do not receive it. */
  readonly templateCode?: string
  /** Values of the template, in the order of its placeholders. Tencent Cloud uses the position, Aliyun the name. */
  readonly params?: Readonly<Record<string, string>>
  /**
   * Signature before the text. `platform.sms.sign-names` maps it for each provider; otherwise it is used as it is.
   * Default: the configured signature of the driver.
   */
  readonly signName?: string
  /** Code of a driver. Default: `platform.sms.driver`. */
  readonly driver?: string
  /** Id of the message, at most 64 characters. The provider returns it in its receipt. */
  readonly reference: string
}

/**
 * A validated message, as drivers receive it: the number in E.164 format, template code and signature as the provider
 * knows them.
 */
export type SmsRequest = Required<Omit<SmsMessage, 'driver' | 'template' | 'templateCode' | 'signName'>> &
  Pick<SmsMessage, 'templateCode' | 'signName'>

/**
 * Sends text messages through one provider. Contributed under its code: `ctx.contribute(smsDriver, 'acme', driver)`.
 */
export interface SmsDriver {
  readonly displayName: LocalizedText
  /**
   * Form of the template codes of the provider. A code without a mapping that has another form is not sent. Default:
   * any form.
   */
  readonly templateCodes?: RegExp
  /** Returns false while a required key is empty. */
  isConfigured(): boolean
  /** Returns the keys of the driver. Absent if it has no required keys. */
  needs?(): ConfigNeeds
  /**
   * Checks the account at the provider without sending. Returns and throws like `NotificationChannel.verify`. Absent if
   * the provider offers no check.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: as of a channel
  verify?(signal: AbortSignal): Promise<readonly ChannelCheck[] | void>
  /**
   * Sends one message. A failure is returned, never thrown. The outcome is `unknown` if the provider may have accepted
   * the message. Such a message must not be sent again automatically, because no provider detects duplicates.
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
 * Sends text messages (document 2, channel `sms`). Only the channel `sms` writes to the send log, this service does
 * not.
 */
export interface Sms {
  /** True if the configured driver can send. */
  readonly isReady: boolean
  /** Codes of the loaded and configured drivers. */
  readonly drivers: readonly string[]
  /** Returns the keys of this plugin and of the configured driver. */
  needs(): ConfigNeeds
  /**
   * Checks whether a driver can send, as far as its provider allows. Returns and throws like
   * `NotificationChannel.verify`.
   *
   * @param driver code of a driver; default: the configured driver
   */
  verify(signal: AbortSignal, driver?: string): Promise<readonly ChannelCheck[]>
  /**
   * Sends one message. A failure is returned, never thrown. For an invalid number or an unknown driver, the outcome is
   * `rejected`.
   */
  send(message: SmsMessage, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const sms = service<Sms>('sms', { from: '@plinth/sms' })
