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
  /** Sent by drivers that support free text, if the template has no code at the provider. */
  readonly content: string
  /** Code of the product's template. `platform.sms.templates` maps it to the code of each provider. */
  readonly template?: string
  /**
   * Overrides `template`. A code that is mapped in the same way, or the code of one provider, which other providers do
   * not receive.
   */
  readonly templateCode?: string
  /** Values of the template, in the order of its placeholders. Tencent Cloud uses the position, Aliyun the name. */
  readonly params?: Readonly<Record<string, string>>
  /**
   * Signature before the text. `platform.sms.sign-names` maps it for each provider; otherwise it is used unchanged.
   * Default: the signature in the configuration of the driver.
   */
  readonly signName?: string
  /** Code of a driver. Default: `platform.sms.driver`. */
  readonly driver?: string
  /** Id of the message, at most 64 characters. The provider repeats it in its receipt. */
  readonly reference: string
}

/**
 * A checked message for a driver: the number in E.164 format, template code and signature as the provider uses them.
 */
export type SmsRequest = Required<Omit<SmsMessage, 'driver' | 'template' | 'templateCode' | 'signName'>> &
  Pick<SmsMessage, 'templateCode' | 'signName'>

/** Sends text messages. Contributed under its code: `ctx.contribute(smsDriver, 'acme', driver)`. */
export interface SmsDriver {
  readonly displayName: LocalizedText
  /**
   * Form of the template codes of the provider. An unmapped code of another form is not passed on. Default: any form.
   */
  readonly templateCodes?: RegExp
  /** Returns false while required keys are empty. */
  isConfigured(): boolean
  /** Names of its keys. Absent if it has no required keys. */
  needs?(): ConfigNeeds
  /**
   * Checks the account at the provider without sending. Returns and throws like `NotificationChannel.verify`. Absent if
   * the provider has no such check.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: as of a channel
  verify?(signal: AbortSignal): Promise<readonly ChannelCheck[] | void>
  /**
   * Sends one message. A failure is an outcome, not an exception. The outcome is `unknown` if the provider may have
   * accepted the message. No provider detects repeated requests, so such a message must not be sent again
   * automatically.
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
 * Sends text messages (document 2, channel `sms`). Calls of this service are not in the send log; the channel `sms`
 * writes one.
 */
export interface Sms {
  /** Whether the configured driver can send. */
  readonly isReady: boolean
  /** Codes of the loaded and configured drivers. */
  readonly drivers: readonly string[]
  /** Returns the keys of this plugin and of the configured driver. */
  needs(): ConfigNeeds
  /**
   * Checks whether a driver can send, as far as its provider allows. Returns and throws like
   * `NotificationChannel.verify`.
   * @param driver code of the driver; default: the configured driver
   */
  verify(signal: AbortSignal, driver?: string): Promise<readonly ChannelCheck[]>
  /** Never throws for a failed delivery. An invalid number and an unknown driver are `rejected`. */
  send(message: SmsMessage, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const sms = service<Sms>('sms', { from: '@plinth/sms' })
