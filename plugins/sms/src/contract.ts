import {
  type ChannelCheck,
  type DeliveryOutcome,
  extensionPoint,
  type LocalizedText,
  type NeededConfigKeys,
  type ProviderReport,
  service,
  shape,
} from '@plinth/kernel'

export interface SmsMessage {
  /**
   * Number of the recipient in E.164 format, or as dialled in the country of `platform.sms.country-code`. Separators, a
   * trunk zero (`+44 (0)7911...`), `tel:` and digits of other scripts are allowed; an extension is not.
   */
  readonly to: string
  /** Text of the message. Drivers that support free text send it if the provider has no template. */
  readonly content: string
  /** Name of a template in the product. `platform.sms.templates` maps it to the template code of each provider. */
  readonly template?: string
  /**
   * Overrides `template`: another name to map, or the template code of one provider. Other providers do not receive
   * this code.
   */
  readonly templateCode?: string
  /** Values of the placeholders, in their order. Tencent Cloud uses the position of a value, Aliyun its name. */
  readonly params?: Readonly<Record<string, string>>
  /**
   * Signature of the message. `platform.sms.sign-names` may map it for each provider. Default: the configured signature
   * of the driver.
   */
  readonly signName?: string
  /** Code of the driver. Default: the value of `platform.sms.driver`. */
  readonly driver?: string
  /** Id of the message, at most 64 characters. The provider returns it in its receipt. */
  readonly reference: string
}

/** A valid message: the number is in E.164 format, and template code and signature are those of the provider. */
export type SmsRequest = Required<Omit<SmsMessage, 'driver' | 'template' | 'templateCode' | 'signName'>> &
  Pick<SmsMessage, 'templateCode' | 'signName'>

/** A message about which a driver asks its provider. */
export interface SentSms {
  /** Number in E.164 format. */
  readonly to: string
  /** `reference` of the message. */
  readonly reference: string
  /** Time of the send, milliseconds since the epoch. */
  readonly sentAt: number
}

/** A way to send text messages. A plugin contributes it under its code: `ctx.contribute(smsDriver, 'acme', driver)`. */
export interface SmsDriver {
  readonly displayName: LocalizedText
  /** Form of the provider's template codes. An unmapped code of another form is not sent. Default: any form. */
  readonly templateCodes?: RegExp
  /** Returns false while a required key is empty. */
  isConfigured(): boolean
  /** Configuration keys that the driver needs. Absent if it has no required keys. */
  needs?(): NeededConfigKeys
  /**
   * Asks the provider what became of a message, without sending. Returns undefined if the provider does not know it, or does
   * not respond. Absent if the provider offers no such request.
   */
  find?(sent: SentSms, signal: AbortSignal): Promise<ProviderReport | undefined>
  /** True if this plugin receives the receipts of the driver and publishes them as `smsReceipt`. Default: false. */
  hasReceipts?(): boolean
  /**
   * Checks the account without sending. The result and the errors are those of `NotificationChannel.verify`. Absent if
   * the provider offers no check.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: as of a channel
  verify?(signal: AbortSignal): Promise<readonly ChannelCheck[] | void>
  /**
   * Sends a message. A failure is returned, never thrown. `unknown`: the provider may have accepted the message. No
   * provider detects duplicates, so it must not be sent again automatically.
   */
  send(request: SmsRequest, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const smsDriver = extensionPoint<SmsDriver>('sms.driver', {
  from: '@plinth/sms',
  names: shape.kebab,
  shape: shape.object<SmsDriver>(
    { displayName: shape.localized, isConfigured: shape.function, send: shape.function },
    {
      templateCodes: shape.anyObject,
      needs: shape.function,
      find: shape.function,
      hasReceipts: shape.function,
      verify: shape.function,
    },
  ),
})

/**
 * Sends text messages (document 2 of the specification, channel `sms`). Only the channel `sms` writes to the send log.
 */
export interface Sms {
  readonly isReady: boolean
  readonly drivers: readonly string[]
  /** Codes of the drivers whose receipts this plugin publishes as `smsReceipt`. */
  readonly reportingDrivers: readonly string[]
  /** Configuration keys that this plugin and the configured driver need. */
  needs(): NeededConfigKeys
  /** Returns the number of `SmsMessage.to` in E.164 format; undefined for an impossible number. */
  numberOf(to: string): string | undefined
  /**
   * Checks whether a driver can send, if its provider offers a check. The result and the errors are those of
   * `NotificationChannel.verify`.
   *
   * @param driver default: the configured driver
   */
  verify(signal: AbortSignal, driver?: string): Promise<readonly ChannelCheck[]>
  /**
   * Asks the providers of all configured drivers what became of a message, without sending. Returns undefined if none of them
   * knows the message.
   */
  find(sent: SentSms, signal: AbortSignal): Promise<ProviderReport | undefined>
  /**
   * Sends a message. A failure is returned, never thrown. A message with an invalid number or an unknown driver is
   * `rejected`.
   */
  send(message: SmsMessage, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const sms = service<Sms>('sms', { from: '@plinth/sms' })
