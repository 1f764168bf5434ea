import type { DeliveryReport } from '@plinth/notification'
import { isJsonObject, type JsonObject, valueAtPath } from '@plinth/outgoing-http'
import { Webhook } from 'standardwebhooks'
import { ReceiptRejected, type ReceiptRequest, type ReceiptSource } from '../contract.ts'
import { parseObject, referenceInMessageId, textOf, timeOf } from './proof.ts'

/** Webhooks of Resend: Standard Webhooks, whose headers begin with `svix-`. The secret begins with `whsec_`. */
export const createResendSource = (secret: () => string): ReceiptSource => ({
  displayName: { en: 'Resend', 'zh-CN': 'Resend' },
  isConfigured: () => secret() !== '',
  reports: [{ channel: 'mail' }],
  receive(request) {
    const id = verify(request, secret())
    const { type, created_at: createdAt, data } = parseObject(request.body)
    if (!isJsonObject(data)) throw new ReceiptRejected('body')
    const state = stateOf(type, data)
    if (state === undefined) return { receipts: [] }
    const receipt = {
      id,
      channel: 'mail',
      provider: 'resend',
      messageId: textOf(data['email_id']),
      reference: referenceInMessageId(data['message_id']),
      // `data.created_at` is the time of the mail, not of the event.
      at: timeOf(createdAt),
      detail: textOf(valueAtPath(data, 'bounce.message')) ?? textOf(valueAtPath(data, 'failed.reason')),
      ...state,
    }
    return { receipts: [receipt] }
  },
})

/** Returns the id of a verified request. @throws ReceiptRejected `signature` */
function verify({ headers, body }: ReceiptRequest, secret: string): string {
  const id = headers['svix-id'] ?? ''
  try {
    const standard = {
      'webhook-id': id,
      'webhook-timestamp': headers['svix-timestamp'] ?? '',
      'webhook-signature': headers['svix-signature'] ?? '',
    }
    new Webhook(secret).verify(body.toString('utf8'), standard, { jsonParse: false })
  } catch {
    throw new ReceiptRejected('signature')
  }
  if (!/^[\x21-\x7e]{1,200}$/.test(id)) throw new ReceiptRejected('body')
  return id
}

function stateOf(type: unknown, data: JsonObject): Pick<DeliveryReport, 'state' | 'bounce'> | undefined {
  switch (type) {
    case 'email.scheduled':
      return { state: 'queued' }
    case 'email.sent':
      return { state: 'sent' }
    case 'email.delivery_delayed':
      return { state: 'delayed' }
    case 'email.delivered':
      return { state: 'delivered' }
    case 'email.bounced':
      // Resend reports only permanent rejections. Newer payloads name the type.
      return { state: 'bounced', bounce: valueAtPath(data, 'bounce.type') === 'Transient' ? 'soft' : 'hard' }
    case 'email.complained':
      return { state: 'complained' }
    case 'email.failed':
    case 'email.suppressed':
      return { state: 'failed' }
    default:
      return undefined
  }
}
