import type { Clock } from '@plinth/kernel'
import type { DeliveryReport } from '@plinth/notification'
import {
  isJsonObject,
  type JsonObject,
  type OutgoingHttp,
  parseJsonOrUndefined,
  valueAtPath,
} from '@plinth/outgoing-http'
import { type Receipt, ReceiptRejected, type ReceiptSource } from '../contract.ts'
import { parseObject, referenceInMessageId, referenceOf, textOf, timeOf } from './proof.ts'
import { isSubscribeUrl, SnsSignatures } from './sns-signature.ts'

/** Delivery policies of Amazon SNS can repeat a message for hours. */
const maxAgeMs = 24 * 3_600_000
/** Clocks of the provider and of this host may differ by this time. */
const skewMs = 15 * 60_000

interface SesSettings {
  /** Topics that may send receipts; empty if none is configured. */
  readonly topicArns: () => readonly string[]
  readonly allowsVersion1: () => boolean
  readonly http: Pick<OutgoingHttp, 'request'>
  readonly clock: Pick<Clock, 'now'>
}

/** Events of Amazon SES that Amazon SNS delivers, of a configuration set or of an identity. */
export function createSesSource({ topicArns, allowsVersion1, http, clock }: SesSettings): ReceiptSource {
  const signatures = new SnsSignatures({ http, clock, allowsVersion1 })
  return {
    displayName: { en: 'Amazon SES', 'zh-CN': 'Amazon SES' },
    isConfigured: () => topicArns().length > 0,
    reports: [{ channel: 'mail' }],
    mailHeaders: (reference) => ({ 'X-SES-MESSAGE-TAGS': `ref=${reference}` }),
    async receive({ body }) {
      const message = parseObject(body)
      const { TopicArn: topicArn, MessageId: id, Type: type, Timestamp: timestamp } = message
      // A valid signature only proves that some topic of Amazon sent the message, so the topic is checked first.
      if (typeof topicArn !== 'string' || !topicArns().includes(topicArn)) throw new ReceiptRejected('topic')
      if (typeof id !== 'string' || !/^[\w-]{1,100}$/.test(id)) throw new ReceiptRejected('body')
      await signatures.verify(message, topicArn)
      const ageMs = clock.now() - (timeOf(timestamp) ?? Number.NaN)
      if (!(ageMs <= maxAgeMs && ageMs >= -skewMs)) throw new ReceiptRejected('stale')
      if (type === 'SubscriptionConfirmation') {
        const { SubscribeURL: url } = message
        if (!isSubscribeUrl(url, topicArn)) throw new ReceiptRejected('body')
        return { receipts: [], confirmation: { subject: topicArn, url } }
      }
      if (type !== 'Notification') return { receipts: [] }
      const event = parseJsonOrUndefined(textOf(message['Message']) ?? '')
      // After a confirmation, Amazon sends one message that is plain text.
      if (!isJsonObject(event)) return { receipts: [] }
      const receipt = receiptOf(event)
      return { receipts: receipt === undefined ? [] : [{ ...receipt, id }] }
    },
  }
}

function receiptOf(event: JsonObject): Omit<Receipt, 'id'> | undefined {
  const type = event['eventType'] ?? event['notificationType']
  const state = stateOf(type, event)
  if (state === undefined) return undefined
  const { member, ...result } = state
  return {
    channel: 'mail',
    provider: 'ses',
    messageId: textOf(valueAtPath(event, 'mail.messageId')),
    reference:
      referenceOf(valueAtPath(event, 'mail.tags.ref.0')) ??
      referenceInMessageId(valueAtPath(event, 'mail.commonHeaders.messageId')),
    at: timeOf(valueAtPath(event, `${member}.timestamp`)) ?? timeOf(valueAtPath(event, 'mail.timestamp')),
    ...result,
  }
}

type State = Pick<DeliveryReport, 'state' | 'bounce' | 'detail'> & { readonly member: string }

function stateOf(type: unknown, event: JsonObject): State | undefined {
  switch (type) {
    case 'Send':
      return { state: 'sent', member: 'send' }
    case 'DeliveryDelay': {
      const member = 'deliveryDelay'
      return { state: 'delayed', member, detail: textOf(valueAtPath(event, `${member}.delayType`)) }
    }
    case 'Delivery':
      return { state: 'delivered', member: 'delivery', detail: textOf(valueAtPath(event, 'delivery.smtpResponse')) }
    case 'Reject':
      return { state: 'failed', member: 'reject', detail: textOf(valueAtPath(event, 'reject.reason')) }
    case 'Rendering Failure':
      return { state: 'failed', member: 'failure', detail: textOf(valueAtPath(event, 'failure.errorMessage')) }
    case 'Complaint':
      return complaintOf(event)
    case 'Bounce':
      return bounceOf(event)
    default:
      return undefined
  }
}

/** Subtypes of addresses on a suppression list: Amazon did not try to deliver the mail. */
const suppressed: readonly unknown[] = ['OnAccountSuppressionList', 'Suppressed']

function complaintOf(event: JsonObject): State {
  const subType = valueAtPath(event, 'complaint.complaintSubType')
  const member = 'complaint'
  if (suppressed.includes(subType)) return { state: 'failed', member, detail: `suppressed by the provider: ${subType}` }
  return { state: 'complained', member, detail: textOf(valueAtPath(event, 'complaint.complaintFeedbackType')) }
}

function bounceOf(event: JsonObject): State {
  const type = valueAtPath(event, 'bounce.bounceType')
  const subType = valueAtPath(event, 'bounce.bounceSubType')
  const member = 'bounce'
  if (suppressed.includes(subType)) return { state: 'failed', member, detail: `suppressed by the provider: ${subType}` }
  const recipients = valueAtPath(event, 'bounce.bouncedRecipients')
  const statuses = Array.isArray(recipients) ? recipients.map((one) => textOf(valueAtPath(one, 'status'))) : []
  // Amazon labels some rejected addresses as transient, so the status of the server counts too.
  const isHard = type === 'Permanent' || statuses.some((status) => status?.startsWith('5.1.') === true)
  const detail = [type, subType, statuses[0]].filter((part) => part !== undefined).join(' ')
  return { state: 'bounced', bounce: isHard ? 'hard' : 'soft', member, detail }
}
