import type { Readable } from 'node:stream'
import {
  type ChannelCheck,
  type DeliveryOutcome,
  extensionPoint,
  type LocalizedText,
  type NeededConfigKeys,
  service,
  shape,
} from '@plinth/kernel'

/**
 * A file on a disk of `@plinth/storage`. It is read when the mail is sent, and again for each attempt. The mail is sent
 * completely or not at all: a file that is missing, too large or changed while it was sent ends the send.
 */
export interface MailAttachment {
  /** File name for the recipient. Its path, control and format characters are removed. */
  readonly name: string
  readonly disk: string
  readonly path: string
  /** `type/subtype`. Default: by the ending of the name. */
  readonly contentType?: string | undefined
  /** Lets the HTML show the file: `contentId` of `cid:<contentId>`. 1 to 64 letters, digits, `.`, `_` or `-`. */
  readonly contentId?: string | undefined
}

/**
 * A mail. Its addresses are without names, for example `someone@example.com`. Addresses and subject contain no line
 * breaks or control characters.
 */
export interface MailMessage {
  /** 1 to 50 addresses. Recipients see all of them. */
  readonly to: readonly string[]
  /** Subject, at most 998 characters (RFC 5322, 2.1.1). */
  readonly subject: string
  /** Text part, at most 1,000,000 characters. The same limit applies to the HTML part. */
  readonly text: string
  readonly html?: string | undefined
  readonly replyTo?: string | undefined
  /** BCP 47 tag for the header `Content-Language`. */
  readonly locale?: string | undefined
  /** `https` URL for the header `List-Unsubscribe`. One `POST` request to it ends the subscription (RFC 8058). */
  readonly unsubscribeUrl?: string | undefined
  /** `https` URL of the page on which the recipient chooses the messages to get. It is added below the text. */
  readonly preferencesUrl?: string | undefined
  /** Number and sizes are limited by `platform.mail.attachments.*`. */
  readonly attachments?: readonly MailAttachment[] | undefined
}

export interface MailOptions {
  /**
   * Key of the mail. Mails with equal keys have the same `Message-ID`, so that the recipient can detect a duplicate.
   */
  readonly idempotencyKey: string
  /** Code of the driver. Default: the value of `platform.mail.driver`. */
  readonly driver?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface MailDelivery {
  readonly address: string
  /**
   * `deferred`: a 4xx reply (RFC 5321, 4.2.1), no connection, or no driver. `rejected`: a 5xx reply, or a mail that
   * breaks a rule of `MailMessage`. `unknown`: the server received the mail but did not reply.
   */
  readonly outcome: DeliveryOutcome['outcome']
  /** Stable code, such as `mail.refused`; absent if the server accepted the mail. */
  readonly errorCode?: string | undefined
  readonly errorMessage?: string | undefined
  /** Reply code of the server, such as `550`. */
  readonly replyCode?: string | undefined
  /** Text of the reply, at most 300 characters, without credentials. It may repeat parts of the mail. */
  readonly reply?: string | undefined
}

export interface MailResult {
  /** Code of the driver; `none` if no driver is configured. */
  readonly driver: string
  /** `Message-ID` of the mail, in angle brackets. */
  readonly messageId: string
  /** Results for the addresses, in the order of `to`. */
  readonly deliveries: readonly MailDelivery[]
}

/** Data that lets the report about a mail find its send. */
export interface MailAnnotations {
  /** Address of the envelope sender, to which servers return the mail. Default: the sender. */
  readonly returnPath?: string | undefined
  /** Headers in addition, such as `X-PM-Metadata-ref`. Names and values are ASCII without line breaks. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Sends mails with the configured driver. */
export interface Mail {
  readonly isReady: boolean
  /** Codes of the loaded drivers that can send. */
  readonly drivers: readonly string[]
  /** Configuration keys that this plugin and the configured driver need. */
  needs(): NeededConfigKeys
  /** Sends a mail. A failed delivery is returned, never thrown. Takes at most `platform.mail.send-deadline`. */
  send(message: MailMessage, options: MailOptions): Promise<MailResult>
  /**
   * Sets the function that returns the annotations of each mail by its `sendReference`. If the function fails, the mail is
   * sent without them. A plugin that reads delivery reports calls this during setup.
   */
  annotate(annotations: (reference: string) => MailAnnotations | Promise<MailAnnotations>): void
  /**
   * Checks that the driver can send, for example that the server accepts the credentials. Sends nothing. The result and
   * the errors are those of `NotificationChannel.verify`. They contain no credentials.
   *
   * @param driver default: the configured driver
   */
  verify(signal: AbortSignal, driver?: string): ReturnType<MailDriver['verify']>
}

export const mail = service<Mail>('mail', { from: '@plinth/mail' })

/** The complete mail (RFC 5322), signed if DKIM is configured. */
export interface MailContent {
  /**
   * Must be read to its end or destroyed. It fails if an attachment cannot be read. The recipient must then not get the
   * part that was read.
   */
  readonly stream: Readable
  /** Bytes; an estimate if the mail has attachments. */
  readonly size: number
}

/** A validated mail. */
export interface OutgoingMail {
  /** Address of the sender without a name. */
  readonly from: string
  /** Address of the envelope sender, if it differs from `from`. A driver should then ask for a report of failures. */
  readonly returnPath?: string | undefined
  /** `sendReference` of the idempotency key. */
  readonly reference: string
  readonly to: readonly string[]
  readonly subject: string
  readonly messageId: string
  /** Returns the mail. Each call reads the attachments again. */
  content(): Promise<MailContent>
  /** Returns the mail in memory, for a driver that cannot send a stream. */
  raw(): Promise<Buffer>
}

/** A way to send mails. A plugin contributes it under its code: `ctx.contribute(mailDriver, 'acme', driver)`. */
export interface MailDriver {
  readonly displayName: LocalizedText
  /** Returns false while a required key is empty. */
  isConfigured(): boolean
  /** Configuration keys that the driver needs. Absent if it has no required keys. */
  needs?(): NeededConfigKeys
  /**
   * Sends a mail and returns a result for each address. If the signal aborts, it closes its connections immediately and
   * returns the results that are known.
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
