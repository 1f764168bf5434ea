import {
  type ChannelCheck,
  type ConfigNeeds,
  type DeliveryOutcome,
  extensionPoint,
  type LocalizedText,
  service,
  shape,
} from '@plinth/kernel'

export interface SmsMessage {
  /** In E.164 format, or as dialled in the country of `platform.sms.country-code`. */
  readonly to: string
  /** For drivers that support free text, if the provider has no template. */
  readonly content: string
  /** `platform.sms.templates` maps it to the code of each provider. */
  readonly template?: string
  /** Overrides `template`: another code to map, or the code of one provider. Other providers do not receive it. */
  readonly templateCode?: string
  /** In the order of the placeholders. Tencent Cloud uses the position, Aliyun the name. */
  readonly params?: Readonly<Record<string, string>>
  /**
   * Signature. `platform.sms.sign-names` may map it for each provider. Default: the configured signature of the driver.
   */
  readonly signName?: string
  /** Default: `platform.sms.driver`. */
  readonly driver?: string
  /** At most 64 characters. The provider returns it in its receipt. */
  readonly reference: string
}

/** Validated: number in E.164 format, template code and signature as the provider knows them. */
export type SmsRequest = Required<Omit<SmsMessage, 'driver' | 'template' | 'templateCode' | 'signName'>> &
  Pick<SmsMessage, 'templateCode' | 'signName'>

/** Contributed under its code: `ctx.contribute(smsDriver, 'acme', driver)`. */
export interface SmsDriver {
  readonly displayName: LocalizedText
  /** Form of the provider's template codes. An unmapped code of another form is not sent. Default: any form. */
  readonly templateCodes?: RegExp
  /** False while a required key is empty. */
  isConfigured(): boolean
  /** Absent if the driver has no required keys. */
  needs?(): ConfigNeeds
  /**
   * Checks the account without sending. Returns and throws like `NotificationChannel.verify`. Absent if the provider
   * offers no check.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: as of a channel
  verify?(signal: AbortSignal): Promise<readonly ChannelCheck[] | void>
  /**
   * A failure is returned, never thrown. `unknown`: the provider may have accepted the message. No provider detects
   * duplicates, so it must not be sent again automatically.
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

/** Document 2, channel `sms`. Only that channel writes to the send log. */
export interface Sms {
  readonly isReady: boolean
  readonly drivers: readonly string[]
  /** Keys of this plugin and of the configured driver. */
  needs(): ConfigNeeds
  /**
   * Checks whether a driver can send, if its provider allows. Returns and throws like `NotificationChannel.verify`.
   *
   * @param driver default: the configured driver
   */
  verify(signal: AbortSignal, driver?: string): Promise<readonly ChannelCheck[]>
  /** A failure is returned, never thrown. An invalid number or unknown driver is `rejected`. */
  send(message: SmsMessage, signal: AbortSignal): Promise<DeliveryOutcome>
}

export const sms = service<Sms>('sms', { from: '@plinth/sms' })
