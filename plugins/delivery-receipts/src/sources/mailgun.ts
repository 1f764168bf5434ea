import { createHmac } from 'node:crypto'
import type { Clock } from '@plinth/kernel'
import type { DeliveryReport } from '@plinth/notification'
import { isJsonObject, type JsonObject, valueAtPath } from '@plinth/outgoing-http'
import { ReceiptRejected, type ReceiptSource } from '../contract.ts'
import { isEqual, parseObject, referenceInMessageId, referenceOf, textOf } from './proof.ts'

/** Mailgun repeats a webhook for up to 8 hours. */
const maxAgeMs = 24 * 3_600_000
/** Clocks of the provider and of this host may differ by this time. */
const skewMs = 15 * 60_000

interface MailgunSettings {
  /** Signing key of webhooks; empty if it is not configured. */
  readonly signingKey: () => string
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Webhooks of Mailgun. Their signature covers only time and token, so each token is accepted for one body only (Mailgun,
 * "Securing webhooks").
 */
export const createMailgunSource = ({ signingKey, clock }: MailgunSettings): ReceiptSource => ({
  displayName: { en: 'Mailgun', 'zh-CN': 'Mailgun' },
  isConfigured: () => signingKey() !== '',
  reports: [{ channel: 'mail' }],
  mailHeaders: (reference) => ({ 'X-Mailgun-Variables': JSON.stringify({ ref: reference }) }),
  receive({ body }) {
    const { signature, 'event-data': event } = parseObject(body)
    if (!isJsonObject(signature) || !isJsonObject(event)) throw new ReceiptRejected('body')
    const { timestamp, token, signature: mac } = signature
    if (typeof token !== 'string' || !/^[\w-]{1,200}$/.test(token) || typeof mac !== 'string') {
      throw new ReceiptRejected('body')
    }
    const signed = createHmac('sha256', signingKey())
      .update(`${textOf(timestamp) ?? ''}${token}`)
      .digest('hex')
    if (!isEqual(mac, signed)) throw new ReceiptRejected('signature')
    const ageMs = clock.now() - Number(timestamp) * 1_000
    if (!(ageMs <= maxAgeMs && ageMs >= -skewMs)) throw new ReceiptRejected('stale')
    const state = stateOf(event)
    if (state === undefined) return { receipts: [] }
    const messageId = textOf(valueAtPath(event, 'message.headers.message-id'))
    const seconds = event['timestamp']
    const receipt = {
      id: token,
      channel: 'mail',
      provider: 'mailgun',
      messageId,
      reference: referenceOf(valueAtPath(event, 'user-variables.ref')) ?? referenceInMessageId(messageId),
      at: typeof seconds === 'number' ? Math.round(seconds * 1_000) : undefined,
      detail: detailOf(event),
      ...state,
    }
    return { receipts: [receipt], isSignedById: true }
  },
})

type State = Pick<DeliveryReport, 'state' | 'bounce'>

function stateOf(event: JsonObject): State | undefined {
  switch (event['event']) {
    case 'accepted':
      return { state: 'queued' }
    case 'delivered':
      return { state: 'delivered' }
    case 'complained':
      return { state: 'complained' }
    case 'rejected':
      return { state: 'failed' }
    case 'failed':
      return failureOf(event)
    default:
      return undefined
  }
}

/** A permanent failure only proves a wrong address if the server of the recipient rejected it with 5xx. */
function failureOf(event: JsonObject): State {
  const reason = textOf(event['reason']) ?? ''
  if (event['severity'] === 'temporary') return { state: 'delayed' }
  if (reason.startsWith('suppress-')) return { state: 'failed' }
  const code = Number(valueAtPath(event, 'delivery-status.code'))
  const isHard = reason === 'bounce' && code >= 500 && code < 600
  return { state: 'bounced', bounce: isHard ? 'hard' : 'soft' }
}

function detailOf(event: JsonObject): string | undefined {
  const code = textOf(valueAtPath(event, 'delivery-status.code'))
  const said = textOf(valueAtPath(event, 'delivery-status.message')) ?? textOf(event['reason'])
  return [code, said].filter((part) => part !== undefined).join(' ') || undefined
}
