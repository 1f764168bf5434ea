import { createHash } from 'node:crypto'
import type { Sender } from './address.ts'
import type { MailMessage } from './contract.ts'

export interface Dkim {
  readonly domainName: string
  readonly keySelector: string
  readonly privateKey: string
}

/** Headers that are signed: those that stay as they are on the way. RFC 8058, 4 asks for both of `List-Unsubscribe`. */
const signedHeaders =
  'From:To:Reply-To:Subject:Date:Message-ID:MIME-Version:Content-Type:Content-Language:List-Unsubscribe:List-Unsubscribe-Post'

/** The same for the same key, so that a mail that comes twice can be told. */
export function messageIdOf(idempotencyKey: string, { address }: Sender): string {
  const digest = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 40)
  return `<${digest}@${address.slice(address.lastIndexOf('@') + 1)}>`
}

/** Lines of text that is sent as base64 end with CRLF (RFC 2045, 6.8). */
const canonical = (text: string) => text.replace(/\r\n|\r|\n/g, '\r\n')

/** Characters of one encoded word, so that a line stays below 76 (RFC 2047, 2). */
const longestWord = 52

/**
 * The bytes of a mail. Texts are encoded, so that relays change nothing in them. Nothing of a message is ever read from a file
 * or an address.
 */
export async function compose(
  { to, subject, text, html, replyTo, locale, unsubscribeUrl }: MailMessage,
  from: Sender,
  messageId: string,
  dkim: Dkim | undefined,
): Promise<Buffer> {
  // Loaded with the first mail: a product without mails is smaller.
  const [{ default: nodemailer }, { encodeWord }] = await Promise.all([
    import('nodemailer'),
    import('nodemailer/lib/mime-funcs'),
  ])
  // The composer sends text that looks like an encoded word unchanged, and readers would decode it.
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
      // Nobody answers it by a machine (RFC 3834).
      'Auto-Submitted': 'auto-generated',
      ...(hasEncodedWord
        ? { Subject: { prepared: true, foldLines: true, value: encodeWord(subject, 'B', longestWord) } }
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
