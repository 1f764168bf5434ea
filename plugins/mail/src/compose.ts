import { createHash } from 'node:crypto'
import type { Sender } from './address.ts'
import type { MailMessage } from './contract.ts'

export interface Dkim {
  readonly domainName: string
  readonly keySelector: string
  readonly privateKey: string
}

/** The signed headers. Relays do not change them. RFC 8058, 4 requires both `List-Unsubscribe` headers. */
const signedHeaders =
  'From:To:Reply-To:Subject:Date:Message-ID:MIME-Version:Content-Type:Content-Language:List-Unsubscribe:List-Unsubscribe-Post'

/** Returns the same id for the same key, so that a duplicate can be recognised. */
export function messageIdOf(idempotencyKey: string, { address }: Sender): string {
  const digest = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 40)
  return `<${digest}@${address.slice(address.lastIndexOf('@') + 1)}>`
}

/** Lines of text in base64 end with CRLF (RFC 2045, 6.8). */
const canonical = (text: string) => text.replace(/\r\n|\r|\n/g, '\r\n')

/** Maximum length of one encoded word, so that lines are shorter than 76 characters (RFC 2047, 2). */
const maxWordLength = 52

/**
 * Returns the bytes of a mail. Texts are encoded, so that relays do not change them. Content is never read from a file
 * or URL.
 */
export async function compose(
  { to, subject, text, html, replyTo, locale, unsubscribeUrl }: MailMessage,
  from: Sender,
  messageId: string,
  dkim: Dkim | undefined,
): Promise<Buffer> {
  // Loaded with the first mail, to save memory in a product that sends none.
  const [{ default: nodemailer }, { encodeWord }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/mime-funcs'),
  ])
  // The composer would send text that looks like an encoded word unchanged, and mail programs would decode it.
  const hasEncodedWord = subject.includes('=?')
  const composer = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  const { message } = await composer.sendMail({
    from: { name: from.name, address: from.address },
    to: to.map((address) => ({ name: '', address })),
    ...(replyTo === undefined ? {} : { replyTo: { name: '', address: replyTo } }),
    ...(hasEncodedWord ? {} : { subject }),
    text: canonical(text),
    ...(html === undefined ? {} : { html: canonical(html) }),
    messageId,
    encoding: 'base64',
    headers: {
      // Prevents automatic replies (RFC 3834).
      'Auto-Submitted': 'auto-generated',
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
    ...(dkim === undefined ? {} : { dkim: { ...dkim, headerFieldNames: signedHeaders } }),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  if (!Buffer.isBuffer(message)) throw new TypeError('The mail was not composed into a buffer')
  return message
}
