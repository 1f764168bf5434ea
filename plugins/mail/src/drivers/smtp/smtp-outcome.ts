import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { encodeAddressForServer } from '../../address.ts'
import { AttachmentFailure } from '../../attachments.ts'
import type { MailDelivery } from '../../contract.ts'
import { PoolExhausted } from './smtp-pool.ts'
import { type SmtpError, SmtpFailure, toSmtpError } from './smtp-session.ts'

type Mask = (text: string) => string

const maxReplyLength = 300

/** Reply codes about the sign-in (RFC 4954, 6). They mean that the configuration is wrong. */
const signInReplies: ReadonlySet<number> = new Set([530, 534, 535, 538])

/** Returns the results for a mail that the server accepted for at least one address. */
export function deliveriesOf(
  to: readonly string[],
  { rejected, rejectedErrors = [] }: Pick<SMTPConnection.SentMessageInfo, 'rejected' | 'rejectedErrors'>,
  mask: Mask,
): readonly MailDelivery[] {
  return to.map((address) => {
    if (!rejected.includes(address)) return { address, outcome: 'accepted' }
    return {
      address,
      ...rejectionOf(
        rejectedErrors.find(({ recipient }) => recipient === address),
        mask,
      ),
    }
  })
}

export function deliveriesOfFailure(to: readonly string[], error: unknown, mask: Mask): readonly MailDelivery[] {
  const { cause, begun } = error instanceof SmtpFailure ? error : { cause: toSmtpError(error), begun: false }
  if (error instanceof SmtpFailure && cause.rejectedErrors !== undefined) {
    return deliveriesOf(to, { rejected: to.map(encodeAddressForServer), rejectedErrors: cause.rejectedErrors }, mask)
  }
  if (cause instanceof AttachmentFailure) return to.map((address) => ({ address, ...cause.delivery }))
  const failure = failureOf(cause, begun, error instanceof SmtpFailure, mask)
  return to.map((address) => ({ address, ...failure }))
}

type Failure = Omit<MailDelivery, 'address'>

/** Returns the result for an error. @param isOfMail false if the session could not be opened */
function failureOf(cause: SmtpError, begun: boolean, isOfMail: boolean, mask: Mask): Failure {
  if (cause.code === 'EAUTH' || signInReplies.has(cause.responseCode || 0)) {
    const said = 'The SMTP server does not accept the sign-in'
    return { ...deferred('mail.sign-in-refused', said), ...replyOf(cause, mask) }
  }
  if (isOfTls(cause)) return deferred('mail.tls-failed', 'The connection could not be encrypted as it must be')
  if (cause.responseCode) {
    return isOfMail
      ? rejectionOf(cause, mask)
      : { ...deferred('mail.server-refused', 'The SMTP server takes no mails now'), ...replyOf(cause, mask) }
  }
  if (begun) {
    const errorMessage = 'The SMTP server was sent the mail and did not answer'
    return { outcome: 'unknown', errorCode: 'mail.no-answer', errorMessage }
  }
  if (cause.code === 'EMESSAGE') {
    const errorMessage = 'The mail is larger than the SMTP server takes'
    return { outcome: 'rejected', errorCode: 'mail.too-large', errorMessage }
  }
  if (cause instanceof PoolExhausted) return deferred('mail.busy', cause.message)
  return deferred('mail.unreachable', 'The SMTP server could not be reached, or did not answer in time')
}

/** True for an error of TLS. Failed certificates and handshakes are reported as socket errors. */
const isOfTls = ({ code, originalCode = '' }: SmtpError) => code === 'ETLS' || /CERT|TLS|SSL/.test(originalCode)

/**
 * Returns the result for an address that the server rejected. Only after a 4xx reply may the mail be sent again (RFC
 * 5321, 4.2.1).
 */
function rejectionOf(cause: SmtpError | undefined, mask: Mask): Failure {
  const code = cause?.responseCode || 0
  const isLasting = code >= 500
  return {
    outcome: isLasting ? 'rejected' : 'deferred',
    errorCode: isLasting ? 'mail.refused' : 'mail.deferred',
    errorMessage: isLasting ? 'The SMTP server refuses the mail' : 'The SMTP server does not take the mail now',
    ...(cause === undefined ? {} : replyOf(cause, mask)),
  }
}

const deferred = (errorCode: string, errorMessage: string): Failure => ({
  outcome: 'deferred',
  errorCode,
  errorMessage,
})

function replyOf({ responseCode, response }: SmtpError, mask: Mask): Pick<MailDelivery, 'replyCode' | 'reply'> {
  const reply = [...mask(response || '').replace(/\p{Cc}+/gu, ' ')].slice(0, maxReplyLength).join('')
  return { ...(responseCode ? { replyCode: String(responseCode) } : {}), ...(reply === '' ? {} : { reply }) }
}
