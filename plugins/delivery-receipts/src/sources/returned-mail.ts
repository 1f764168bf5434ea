import type { DeliveryReport } from '@plinth/notification'
import PostalMime, { type Email } from 'postal-mime'
import type { Receipt, ReceiptSource } from '../contract.ts'
import { ReceiptRejected } from '../contract.ts'
import { referenceInReturnPath } from '../return-path.ts'
import { hashOf, referenceInMessageId, referenceOf, requireSecret, timeOf } from './proof.ts'

interface ReturnedMailSettings {
  readonly secret: () => string
  /** Key of the tokens in return paths; undefined if no token was made yet. */
  readonly key: () => Promise<Buffer | undefined>
}

const maxBodyBytes = 1_048_576
const limits = { maxNestingDepth: 20, maxHeadersSize: 262_144, maxRfc822NestingDepth: 0 }
/** Maximum number of lines of a report. The library needs the time for its lines, not for its bytes. */
const maxLines = 50_000
/** Maximum number of recipients of one report that are read. */
const maxRecipients = 50

/**
 * Returned mails (RFC 3464) and complaints (RFC 5965). The mail server or service passes each raw message that arrives at the
 * return path. A report without the token, or without the `Message-ID` of an own mail, changes nothing.
 */
export const createReturnedMailSource = ({ secret, key }: ReturnedMailSettings): ReceiptSource => ({
  displayName: { en: 'Returned mail', 'zh-CN': '退回邮件' },
  isConfigured: () => secret() !== '',
  reports: [{ channel: 'mail' }],
  maxBodyBytes,
  async receive(request) {
    requireSecret(request, secret())
    const email = await parse(request.body)
    const reference = await referenceOfReport(email, key)
    if (reference === 'forged') return { receipts: [] }
    const id = hashOf(email.messageId ?? request.body.toString('latin1'))
    const states = statesOf(email)
    const receipts = states.map(
      (state, index): Receipt => ({
        id: `${id}:${index}`,
        channel: 'mail',
        provider: 'returned-mail',
        reference,
        at: timeOf(email.date),
        ...state,
      }),
    )
    return { receipts }
  },
})

/** @throws ReceiptRejected `body` */
async function parse(body: Buffer): Promise<Email> {
  if (hasMoreLines(body, maxLines)) throw new ReceiptRejected('body')
  try {
    return await PostalMime.parse(body, { ...limits, forceRfc822Attachments: true, attachmentEncoding: 'arraybuffer' })
  } catch {
    throw new ReceiptRejected('body')
  }
}

function hasMoreLines(body: Buffer, limit: number): boolean {
  let lines = 0
  for (let at = body.indexOf(10); at >= 0; at = body.indexOf(10, at + 1)) if (++lines > limit) return true
  return false
}

type State = Pick<DeliveryReport, 'state' | 'bounce' | 'detail'>
type Fields = ReadonlyMap<string, string>

/** Reads the states of the recipients. Empty for a mail that is not a report. */
function statesOf(email: Email): readonly State[] {
  const [, ...recipients] = fieldGroups(partOf(email, 'message/delivery-status'))
  if (recipients.length > 0) return recipients.slice(0, maxRecipients).flatMap(stateOfRecipient)
  const [feedback] = fieldGroups(partOf(email, 'message/feedback-report'))
  const type = feedback?.get('feedback-type')?.toLowerCase()
  return type === undefined || type === 'not-spam' ? [] : [{ state: 'complained', detail: type }]
}

/** Returns the state of one recipient (RFC 3464, 2.3; status codes of RFC 3463). */
function stateOfRecipient(fields: Fields): readonly State[] {
  const [, status = ''] = /^(\d\.\d{1,3}\.\d{1,3})/.exec(fields.get('status') ?? '') ?? []
  const detail = [status, fields.get('diagnostic-code')].filter(Boolean).join(' ')
  switch (fields.get('action')?.toLowerCase()) {
    case 'failed': {
      // If the mail was forwarded, the address of the message itself may be right.
      const isForwarded = addressOf(fields, 'original-recipient') !== addressOf(fields, 'final-recipient')
      const isHard = status.startsWith('5.1.') && !(fields.has('original-recipient') && isForwarded)
      return [{ state: 'bounced', bounce: isHard ? 'hard' : 'soft', detail }]
    }
    case 'delayed':
      return [{ state: 'delayed', detail }]
    case 'delivered':
      return [{ state: 'delivered', detail }]
    case 'relayed':
    case 'expanded':
      return [{ state: 'sent', detail }]
    default:
      return []
  }
}

const addressOf = (fields: Fields, name: string) =>
  fields
    .get(name)
    ?.replace(/^[^;]*;/, '')
    .trim()
    .toLowerCase()

/**
 * Finds the own mail of a report: by the token in the return path, the envelope id, the `Message-ID` of the returned mail, or
 * the ids that the report refers to. Never by address and time.
 */
async function referenceOfReport(
  email: Email,
  readKey: ReturnedMailSettings['key'],
): Promise<string | 'forged' | undefined> {
  const key = await readKey()
  const recipients = ['delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'to']
  const addresses = email.headers.flatMap((header) => (recipients.includes(header.key) ? [header.value] : []))
  const tokens = key === undefined ? [] : addresses.map((address) => referenceInReturnPath(address, key))
  const token = tokens.find((one) => one !== undefined && one !== 'forged')
  if (token !== undefined) return token
  if (tokens.includes('forged')) return 'forged'
  const [message] = fieldGroups(partOf(email, 'message/delivery-status'))
  const returned = partOf(email, 'message/rfc822') ?? partOf(email, 'text/rfc822-headers')
  const [headers] = fieldGroups(returned)
  const mentioned = `${email.inReplyTo ?? ''} ${email.references ?? ''}`.split(/\s+/)
  return (
    referenceOf(message?.get('original-envelope-id')?.trim()) ??
    referenceInMessageId(headers?.get('message-id')) ??
    mentioned.map(referenceInMessageId).find((one) => one !== undefined)
  )
}

/** Returns the text of the first part of a type. */
function partOf({ attachments }: Email, type: string): string | undefined {
  const content = attachments.find(({ mimeType }) => mimeType.toLowerCase() === type)?.content
  return content === undefined || typeof content === 'string' ? content : Buffer.from(content as ArrayBuffer).toString()
}

/** Reads groups of header fields, which empty lines separate. The first value of a field counts. */
function fieldGroups(text: string | undefined): readonly Fields[] {
  if (text === undefined) return []
  const unfolded = text.replace(/\r\n/g, '\n').replace(/\n[ \t]+/g, ' ')
  return unfolded.split(/\n{2,}/).flatMap((group) => {
    const fields = new Map<string, string>()
    for (const line of group.split('\n')) {
      const [, name, value = ''] = /^([\x21-\x39\x3b-\x7e]+):\s*(.*)$/.exec(line) ?? []
      if (name !== undefined && !fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), value.trim())
    }
    return fields.size === 0 ? [] : [fields]
  })
}
