import {
  type ChannelCheck,
  type ConfigNeeds,
  type DeliveryOutcome,
  extensionPoint,
  type LocalizedText,
  service,
  shape,
} from '@plinth/kernel'

/**
 * A mail. Addresses are bare, such as `someone@example.com`. Addresses and subject contain no line breaks or control
 * characters.
 */
export interface MailMessage {
  /** 1 to 50 addresses. Recipients see all of them; to hide them, send separate mails. */
  readonly to: readonly string[]
  /** At most 998 characters (RFC 5322, 2.1.1). */
  readonly subject: string
  /** Required text part. At most 1,000,000 characters. The same limit applies to the HTML part. */
  readonly text: string
  readonly html?: string | undefined
  readonly replyTo?: string | undefined
  /** BCP 47 language tag for the header `Content-Language`. */
  readonly locale?: string | undefined
  /**
   * `https` URL for the header `List-Unsubscribe`. One `POST` to it ends the subscription of the recipient (RFC 8058).
   */
  readonly unsubscribeUrl?: string | undefined
}

export interface MailOptions {
  /**
   * The same key gives the same `Message-ID`, so that the recipient can detect a duplicate. Drivers do not store keys.
   */
  readonly idempotencyKey: string
  /** Code of a driver. Default: `platform.mail.driver`. */
  readonly driver?: string | undefined
  /** Cancels the send. */
  readonly signal?: AbortSignal | undefined
}

/** The result for one address. It contains no credentials. */
export interface MailDelivery {
  readonly address: string
  /**
   * As in `DeliveryOutcome`. `deferred`: a 4xx reply (RFC 5321, 4.2.1), no connection, or no driver. `rejected`: a 5xx
   * reply, or a mail that breaks a rule of `MailMessage`. `unknown`: the server received the mail but did not reply.
   */
  readonly outcome: DeliveryOutcome['outcome']
  /** Stable code of a failure, such as `mail.refused`; absent if accepted. */
  readonly errorCode?: string | undefined
  readonly errorMessage?: string | undefined
  /** Reply code of the server, such as `550`. */
  readonly replyCode?: string | undefined
  /** Reply of the server, at most 300 characters. It may repeat parts of the mail, but contains no credentials. */
  readonly reply?: string | undefined
}

export interface MailResult {
  /** Code of the driver; `none` if none is configured. */
  readonly driver: string
  /** `Message-ID` of the mail, in angle brackets. */
  readonly messageId: string
  /** One for each address of `to`, in the same order. */
  readonly deliveries: readonly MailDelivery[]
}

/** Sends mails with the configured driver (decision A16). */
export interface Mail {
  /** True if the configured driver can send. */
  readonly isReady: boolean
  /** Codes of the loaded drivers that can send. */
  readonly drivers: readonly string[]
  /** Returns the keys of this plugin and of the configured driver. */
  needs(): ConfigNeeds
  /** Sends one mail within `platform.mail.send-deadline`. A failed delivery is returned, never thrown. */
  send(message: MailMessage, options: MailOptions): Promise<MailResult>
  /**
   * Checks that the driver can send, for example that the server accepts the credentials or that the directory is
   * writable. Sends nothing. Returns and throws like `NotificationChannel.verify`. Reasons contain no credentials.
   *
   * @param driver code of a driver; default: the configured driver
   */
  verify(signal: AbortSignal, driver?: string): ReturnType<MailDriver['verify']>
}

export const mail = service<Mail>('mail', { from: '@plinth/mail' })

/** A validated mail, as drivers receive it. */
export interface OutgoingMail {
  /** Bare address of the sender. */
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly messageId: string
  /** Returns the complete mail in the format of RFC 5322, signed if DKIM is configured. */
  raw(): Promise<Buffer>
}

/**
 * Sends mails in one way, for example through SMTP. Contributed under its code: `ctx.contribute(mailDriver, 'acme',
 * driver)`.
 */
export interface MailDriver {
  readonly displayName: LocalizedText
  /** Returns false while a required key is empty. */
  isConfigured(): boolean
  /** Returns the keys of the driver. Absent if it has no required keys. */
  needs?(): ConfigNeeds
  /**
   * Sends one mail and returns a result for each address. If the signal aborts, closes its connections immediately and
   * returns what is known about the mail.
   */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<readonly MailDelivery[]>
  /** See `Mail.verify`. */
  // biome-ignore lint/suspicious/noConfusingVoidType: as of a channel
  verify(signal: AbortSignal): Promise<readonly ChannelCheck[] | void>
}

export const mailDriver = extensionPoint<MailDriver>('mail.driver', {
  from: '@plinth/mail',
  names: shape.kebab,
  shape: shape.object<MailDriver>(
    { displayName: shape.localized, isConfigured: shape.function, send: shape.function, verify: shape.function },
    { needs: shape.function },
  ),
})
