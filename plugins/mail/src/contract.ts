import { type DeliveryOutcome, service } from '@plinth/kernel'

/** A mail. Addresses are bare, `someone@example.com`; no address and no subject has a line break or control character. */
export interface MailMessage {
  /** 1 to 50 addresses. All of them are named in the mail: who must not see the others gets a mail of his own. */
  readonly to: readonly string[]
  /** At most 998 characters. */
  readonly subject: string
  /** Text part; every mail has one. At most 2,000,000 characters, as the HTML part. */
  readonly text: string
  readonly html?: string | undefined
  readonly replyTo?: string | undefined
  /** BCP 47 tag of the text, for `Content-Language`. */
  readonly locale?: string | undefined
  /**
   * `https` address that ends the subscription of the recipient by one `POST` (RFC 8058); goes into `List-Unsubscribe`.
   */
  readonly unsubscribeUrl?: string | undefined
}

export interface MailOptions {
  /** Same key, same `Message-ID`: who gets a mail twice can see that it is one. No driver remembers keys. */
  readonly idempotencyKey: string
  /** Gives the send up when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/** What became of a mail for one address. Holds no credentials. */
export interface MailDelivery {
  readonly address: string
  /**
   * As `DeliveryOutcome`: `deferred` is a reply 4xx (RFC 5321, 4.2.1) or no connection, `rejected` a reply 5xx or a mail
   * that breaks a rule of `MailMessage`, `unknown` when the connection ended after the mail had been sent and before the
   * server answered.
   */
  readonly outcome: DeliveryOutcome['outcome']
  /** Stable code of a failure, such as `mail.refused`; absent when it was accepted. */
  readonly errorCode?: string | undefined
  /** What happened, without credentials. */
  readonly errorMessage?: string | undefined
  /** The reply of the server, for example `550`. */
  readonly replyCode?: string | undefined
}

export interface MailResult {
  readonly driver: MailDriverName
  /** `Message-ID` of the mail, in angle brackets. */
  readonly messageId: string
  /** One for each address of `to`, in its order. */
  readonly deliveries: readonly MailDelivery[]
}

export type MailDriverName = 'smtp' | 'file' | 'log'

/** Sends mails through the driver that is configured (decision A16). */
export interface Mail {
  /** `undefined` when none is configured: nothing can be sent then. */
  readonly driver: MailDriverName | undefined
  /** Sends one mail under one deadline, `platform.mail.send-deadline`. A delivery failure is a result, not an exception. */
  send(message: MailMessage, options: MailOptions): Promise<MailResult>
  /** Proves that the driver can be used: that the server takes the credentials, that the directory can be written. Sends nothing. */
  verify(signal: AbortSignal): Promise<void>
}

export const mail = service<Mail>('mail', { from: '@plinth/mail' })
