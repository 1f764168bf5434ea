import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import {
  bilingual,
  ChannelError,
  type Clock,
  errorReason,
  type Logger,
  type NeededConfigKeys,
  sendReference,
} from '@plinth/kernel'
import type { Storage } from '@plinth/storage'
import { isAddress, isHeaderText, parseSender, type Sender } from './address.ts'
import { AttachmentFailure, type AttachmentLimits, type CheckedAttachment, checkAttachments } from './attachments.ts'
import type {
  Mail,
  MailAnnotations,
  MailContent,
  MailDelivery,
  MailDriver,
  MailMessage,
  MailOptions,
  MailResult,
} from './contract.ts'
import { failAllRecipients } from './drivers/failures.ts'

interface Dkim {
  readonly domainName: string
  readonly keySelector: string
  readonly privateKey: string
}

/**
 * Headers that DKIM signs. Servers on the way do not change them. RFC 8058, 4 requires that both `List-Unsubscribe`
 * headers are signed.
 */
const signedHeaders =
  'From:To:Reply-To:Subject:Date:Message-ID:MIME-Version:Content-Type:Content-Language:List-Unsubscribe:List-Unsubscribe-Post'

/** Returns the `Message-ID` of a mail. It is the same for equal keys, so that a duplicate can be detected. */
export function messageIdOf(idempotencyKey: string, { address }: Sender): string {
  return `<${sendReference(idempotencyKey)}@${address.slice(address.lastIndexOf('@') + 1)}>`
}

/** Returns a text whose lines end with CRLF, as base64 requires for text (RFC 2045, 6.8). */
const canonical = (text: string) => text.replace(/\r\n|\r|\n/g, '\r\n')

/** Maximum length of an encoded word. With it, lines are shorter than 76 characters (RFC 2047, 2). */
const maxWordLength = 52

/** Number of bytes from which the signer stores a mail with files in a temporary file that only this user can read. */
const maxSignedBytes = 2 * 1024 * 1024

/**
 * Builds the mail. Texts are encoded, so that servers on the way do not change them. The library never reads a file or
 * URL itself. A mail without attachments is in memory. The files of attachments are read while the mail is sent.
 */
async function composeMail(
  { to, subject, replyTo, locale, unsubscribeUrl, ...written }: MailMessage,
  from: Sender,
  { messageId, dkim, more, attachments }: Composition,
): Promise<MailContent> {
  // Imported only here, to save memory in a product that sends no mails.
  const [{ default: nodemailer }, { encodeWord }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/mime-funcs'),
  ])
  // The library would send a subject with `=?` unchanged, and mail programs would decode it, so the subject is encoded
  // here.
  const hasEncodedWord = subject.includes('=?')
  const { text, html } = withPreferencesLink({ ...written, locale })
  const files = attachments.map(({ open, size: _, ...attachment }) => ({ ...attachment, content: open() }))
  const composer = nodemailer.createTransport({ streamTransport: true, buffer: files.length === 0 })
  const { message } = await composer.sendMail({
    from: { name: from.name, address: from.address },
    to: to.map((address) => ({ name: '', address })),
    ...(replyTo === undefined ? {} : { replyTo: { name: '', address: replyTo } }),
    ...(hasEncodedWord ? {} : { subject }),
    text: canonical(text),
    ...(html === undefined ? {} : { html: canonical(html) }),
    attachments: files,
    messageId,
    encoding: 'base64',
    newline: 'windows',
    headers: {
      // Prevents automatic replies (RFC 3834).
      'Auto-Submitted': 'auto-generated',
      ...more,
      ...(hasEncodedWord
        ? { Subject: { prepared: true, foldLines: true, value: encodeWord(subject, 'B', maxWordLength) } }
        : {}),
      ...(locale === undefined ? {} : { 'Content-Language': locale }),
      ...(unsubscribeUrl === undefined
        ? {}
        : {
            'List-Unsubscribe': { prepared: true, foldLines: false, value: `<${unsubscribeUrl}>` },
            'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          }),
    },
    ...(dkim === undefined ? {} : { dkim: { ...dkim, ...signerCache, headerFieldNames: signedHeaders } }),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  if (Buffer.isBuffer(message)) return { stream: Readable.from([message]), size: message.length }
  const stream = message as Readable
  stream.once('close', () => {
    for (const { content } of files) content.destroy()
  })
  return { stream, size: estimatedBytes([text, html ?? ''], attachments) }
}

const signerCache = { cacheDir: tmpdir(), cacheTreshold: maxSignedBytes }

/** Returns about how many bytes the mail has: base64 with a line break after 76 characters, and the headers. */
function estimatedBytes(texts: readonly string[], attachments: readonly CheckedAttachment[]): number {
  const bytes = [...texts.map((text) => Buffer.byteLength(text)), ...attachments.map(({ size }) => size)]
  return bytes.reduce((sum, size) => sum + Math.ceil(size / 57) * 78 + 1_000, 0)
}

interface Composition {
  readonly messageId: string
  readonly dkim: Dkim | undefined
  readonly more: MailAnnotations['headers']
  readonly attachments: readonly CheckedAttachment[]
}

/** Adds the link to the preferences below the text, and before the end of the HTML document. */
function withPreferencesLink({
  text,
  html,
  locale,
  preferencesUrl,
}: Pick<MailMessage, 'text' | 'html' | 'locale' | 'preferencesUrl'>) {
  if (preferencesUrl === undefined) return { text, html }
  const label = locale?.startsWith('zh') ? '通知偏好' : 'Notification preferences'
  const link = `<p><a href="${preferencesUrl.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">${label}</a></p>`
  const end = html === undefined ? -1 : html.toLowerCase().lastIndexOf('</body>')
  return {
    text: `${text}\n\n-- \n${label}: ${preferencesUrl}\n`,
    html:
      html === undefined ? undefined : end < 0 ? `${html}${link}` : `${html.slice(0, end)}${link}${html.slice(end)}`,
  }
}

interface MailSettings {
  readonly driver: string
  /** See `parseSender`. */
  readonly from: string
  /** Milliseconds. */
  readonly sendDeadlineMs: number
  readonly dkim: Dkim | undefined
  readonly attachments: AttachmentLimits
}

interface MailDependencies {
  readonly drivers: ReadonlyMap<string, MailDriver>
  /** Returns the settings. Called for every mail, so that a change takes effect immediately. */
  readonly settings: () => MailSettings
  readonly clock: Clock
  readonly log: Pick<Logger, 'error'>
  /** Undefined in a product without files. */
  readonly storage?: Pick<Storage, 'stat' | 'open'> | undefined
}

const maxRecipients = 50
const maxSubjectLength = 998
const maxTextLength = 1_000_000

export class MailService implements Mail {
  readonly #parts: MailDependencies
  readonly #stopping = new AbortController()
  readonly #inFlight = new Set<Promise<unknown>>()
  #annotations: Parameters<Mail['annotate']>[0] | undefined

  constructor(parts: MailDependencies) {
    this.#parts = parts
  }

  get isReady(): boolean {
    return this.#ready() !== undefined
  }

  get drivers(): readonly string[] {
    return [...this.#parts.drivers.keys()].filter((code) => this.#ready(code) !== undefined)
  }

  send(message: MailMessage, options: MailOptions): Promise<MailResult> {
    const sending = this.#send(message, options)
    this.#inFlight.add(sending)
    return sending.finally(() => this.#inFlight.delete(sending))
  }

  annotate(annotations: Parameters<Mail['annotate']>[0]): void {
    this.#annotations = annotations
  }

  needs(): NeededConfigKeys {
    const { drivers, settings } = this.#parts
    const { driver, from } = settings()
    const own = drivers.get(driver)?.needs?.() ?? { keys: [], missingKeys: [] }
    const missing = [
      ...(drivers.has(driver) ? [] : ['platform.mail.driver']),
      ...(parseSender(from) === undefined ? ['platform.mail.from'] : []),
    ]
    return {
      keys: ['platform.mail.driver', 'platform.mail.from', ...own.keys],
      missingKeys: [...missing, ...own.missingKeys],
    }
  }

  async verify(signal: AbortSignal, requested?: string): ReturnType<MailDriver['verify']> {
    const ready = this.#ready(requested)
    if (ready === undefined) {
      const reason = bilingual(
        'No mail driver is configured: set platform.mail.driver and platform.mail.from, and fill in the keys of the driver.',
        '尚未配置邮件驱动：请设置 platform.mail.driver 和 platform.mail.from，并填写该驱动的配置项。',
      )
      throw new ChannelError('configuration', reason)
    }
    const { settings, clock } = this.#parts
    return withSignal(clock, settings().sendDeadlineMs, [signal, this.#stopping.signal], (limit) =>
      ready.driver.verify(limit),
    )
  }

  async drain(): Promise<void> {
    await Promise.allSettled(this.#inFlight)
  }

  stop(): void {
    this.#stopping.abort(new Error('The product stops'))
  }

  async #send(message: MailMessage, { idempotencyKey, driver: requested, signal }: MailOptions): Promise<MailResult> {
    const { settings, clock, log } = this.#parts
    const ready = this.#ready(requested)
    if (ready === undefined) {
      const deliveries = failAllRecipients(
        message.to,
        'deferred',
        'mail.not-configured',
        'No mail driver is configured',
      )
      return { driver: 'none', messageId: '', deliveries }
    }
    const { code, driver, from } = ready
    const messageId = messageIdOf(idempotencyKey, from)
    const response = (deliveries: readonly MailDelivery[]): MailResult => ({ driver: code, messageId, deliveries })
    const problem = problemOf(message)
    if (problem !== undefined) return response(failAllRecipients(message.to, 'rejected', problem.code, problem.text))
    const to = message.to.filter(isAddress)
    if (to.length === 0) return response(inOrder(message.to, []))
    const { dkim, sendDeadlineMs, attachments: limits } = settings()
    const { storage } = this.#parts
    const attachments = await checkAttachments(message.attachments ?? [], { storage, clock, limits }).catch(
      (error: unknown) => {
        if (error instanceof AttachmentFailure) return error
        throw error
      },
    )
    if (attachments instanceof AttachmentFailure) {
      return response(
        inOrder(
          message.to,
          to.map((address) => ({ address, ...attachments.delivery })),
        ),
      )
    }
    const reference = sendReference(idempotencyKey)
    const { returnPath, headers: more } = await this.#annotationsOf(reference)
    const content = () => composeMail({ ...message, to }, from, { messageId, dkim, more, attachments })
    const raw = async () => buffer((await content()).stream)
    const mail = { from: from.address, returnPath, reference, to, subject: message.subject, messageId, content, raw }
    const signals = [this.#stopping.signal, ...(signal === undefined ? [] : [signal])]
    try {
      const sent = await withSignal(clock, sendDeadlineMs, signals, (limit) => driver.send(mail, limit))
      return response(inOrder(message.to, sent))
    } catch (error) {
      log.error({ err: error, driver: code, messageId }, 'a mail driver threw an error')
      return response(
        inOrder(
          message.to,
          failAllRecipients(to, 'unknown', 'mail.driver-failed', 'The mail driver failed; the log says why'),
        ),
      )
    }
  }

  async #annotationsOf(reference: string): Promise<MailAnnotations> {
    try {
      return (await this.#annotations?.(reference)) ?? {}
    } catch (error) {
      // The mail is sent. Only its delivery reports may be missing.
      this.#parts.log.error({ reason: errorReason(error) }, 'a mail has no return path for its delivery reports')
      return {}
    }
  }

  #ready(requested?: string) {
    const { drivers, settings } = this.#parts
    const { driver: configured, from } = settings()
    const code = requested ?? configured
    const driver = drivers.get(code)
    const sender = parseSender(from)
    return driver === undefined || sender === undefined || !driver.isConfigured()
      ? undefined
      : { code, driver, from: sender }
  }
}

/** Returns the results in the order of the addresses, with one result for each invalid address. */
function inOrder(to: readonly string[], sent: readonly MailDelivery[]): readonly MailDelivery[] {
  const rejected = {
    outcome: 'rejected',
    errorCode: 'mail.address-invalid',
    errorMessage: 'That is no mail address',
  } as const
  return to.map((address) => sent.find((delivery) => delivery.address === address) ?? { address, ...rejected })
}

interface Fault {
  readonly code: string
  readonly text: string
}

/** Returns the first rule of `MailMessage` that a mail breaks. Addresses are not checked. */
function problemOf(message: MailMessage): Fault | undefined {
  const { to, subject, text, html = '', replyTo, locale, unsubscribeUrl, preferencesUrl } = message
  const problem = (code: string, text: string) => ({ code: `mail.${code}`, text })
  if (to.length > maxRecipients) return problem('too-many-recipients', `A mail has at most ${maxRecipients} recipients`)
  if (subject.length > maxSubjectLength || !isHeaderText(subject)) {
    return problem('subject-invalid', 'The subject has a line break or control character, or is too long')
  }
  if (replyTo !== undefined && !isAddress(replyTo))
    return problem('address-invalid', 'The reply address is no mail address')
  if (locale !== undefined && !/^[A-Za-z0-9-]{2,35}$/.test(locale))
    return problem('locale-invalid', 'The language is no tag')
  const isUrl = (url: string | undefined) => url === undefined || /^https?:\/\/[\x21-\x7e]{1,900}$/.test(url)
  if (!isUrl(preferencesUrl)) return problem('preferences-invalid', 'The address of the preferences is none')
  if (!isUrl(unsubscribeUrl)) {
    return problem('unsubscribe-invalid', 'The address that ends the subscription is none')
  }
  if (text.length > maxTextLength || html.length > maxTextLength) return problem('too-large', 'The mail is too large')
  return text.trim() === '' ? problem('empty', 'The mail has no text') : undefined
}

/** Runs the work with a deadline. If the signal aborts, the work must return what is known about the mail. */
async function withSignal<T>(
  clock: Clock,
  ms: number,
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const finished = new AbortController()
  const late = new AbortController()
  clock.sleep(ms, finished.signal).then(() => {
    if (!finished.signal.aborted) late.abort(new Error(`The mail took more than ${ms} ms`))
  })
  try {
    return await work(AbortSignal.any([late.signal, ...signals]))
  } finally {
    finished.abort()
  }
}
