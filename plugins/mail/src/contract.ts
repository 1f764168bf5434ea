import {
  type ChannelCheck,
  type ConfigNeeds,
  type DeliveryOutcome,
  extensionPoint,
  type LocalizedText,
  service,
  shape,
} from '@plinth/kernel'

/** A mail. Addresses are bare, `someone@example.com`. No address and no subject has a line break or control character. */
export interface MailMessage {
  /** 1 to 50 addresses. All of them are named in the mail: who must not see the others gets a mail of his own. */
  readonly to: readonly string[]
  /** At most 998 characters (RFC 5322, 2.1.1). */
  readonly subject: string
  /** Text part; every mail has one. At most 1,000,000 characters, as the HTML part. */
  readonly text: string
  readonly html?: string | undefined
  readonly replyTo?: string | undefined
  /** BCP 47 tag of the text, for `Content-Language`. */
  readonly locale?: string | undefined
  /** `https` address that ends the subscription of the recipient by one `POST` (RFC 8058); goes into `List-Unsubscribe`. */
  readonly unsubscribeUrl?: string | undefined
}

export interface MailOptions {
  /** Same key, same `Message-ID`: who gets a mail twice can see that it is one. No driver remembers keys. */
  readonly idempotencyKey: string
  /** Code of a driver; absent: `platform.mail.driver`. */
  readonly driver?: string | undefined
  /** Gives the send up when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/** What became of a mail for one address. Holds no credentials. */
export interface MailDelivery {
  readonly address: string
  /**
   * As `DeliveryOutcome`. `deferred`: a reply 4xx (RFC 5321, 4.2.1), no connection, or no driver; `rejected`: a reply 5xx, or a
   * mail that breaks a rule of `MailMessage`; `unknown`: the server had been sent the mail and did not answer.
   */
  readonly outcome: DeliveryOutcome['outcome']
  /** Stable code of a failure, such as `mail.refused`; absent when it was accepted. */
  readonly errorCode?: string | undefined
  /** What happened, in words of the product. */
  readonly errorMessage?: string | undefined
  /** Code of the server's reply, such as `550`. */
  readonly replyCode?: string | undefined
  /** The server's reply, at most 300 characters. It may repeat what was sent, but no credentials. */
  readonly reply?: string | undefined
}

export interface MailResult {
  /** Code of the driver; `none` when none is configured. */
  readonly driver: string
  /** `Message-ID` of the mail, in angle brackets. */
  readonly messageId: string
  /** One for each address of `to`, in its order. */
  readonly deliveries: readonly MailDelivery[]
}

/** Sends mails through the driver of the configuration (decision A16). */
export interface Mail {
  /** Whether that driver can send. */
  readonly isReady: boolean
  /** Codes of the loaded drivers that can send. */
  readonly drivers: readonly string[]
  /** Keys of the facility and of that driver. */
  needs(): ConfigNeeds
  /** Sends one mail within `platform.mail.send-deadline`. Never throws for a failed delivery. */
  send(message: MailMessage, options: MailOptions): Promise<MailResult>
  /**
   * Proves that the driver can be used: that the server takes the credentials, that the directory can be written. Sends
   * nothing. Answers and throws as `NotificationChannel.verify`, without credentials in any reason.
   *
   * @param driver its code; absent: the driver of the configuration
   */
  verify(signal: AbortSignal, driver?: string): ReturnType<MailDriver['verify']>
}

export const mail = service<Mail>('mail', { from: '@plinth/mail' })

/** A mail as a driver gets it: checked, with its sender and its `Message-ID`. */
export interface OutgoingMail {
  /** Bare address of the sender. */
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly messageId: string
  /** The mail as it goes over the wire (RFC 5322), signed where DKIM is configured. */
  raw(): Promise<Buffer>
}

/** A way to send mails, contributed under its code: `ctx.contribute(mailDriver, 'acme', driver)`. */
export interface MailDriver {
  readonly displayName: LocalizedText
  /** False while its keys are not filled in. */
  isConfigured(): boolean
  /** Names of its keys; absent: it has none that anybody must fill in. */
  needs?(): ConfigNeeds
  /**
   * Sends one mail; answers a delivery for each address. When the signal aborts it ends at once, destroys what it waits for,
   * and says what became of the mail.
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
