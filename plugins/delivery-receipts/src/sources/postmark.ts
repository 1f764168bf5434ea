import type { DeliveryReport } from '@plinth/notification'
import { type JsonObject, valueAtPath } from '@plinth/outgoing-http'
import type { ReceiptSource } from '../contract.ts'
import { hashOf, parseObject, referenceOf, requireSecret, textOf, timeOf } from './proof.ts'

/**
 * Webhooks of Postmark. They have no signature, so they must contain a secret. The name of the metadata comes from a header,
 * whose case SMTP libraries change.
 */
export const createPostmarkSource = (secret: () => string): ReceiptSource => ({
  displayName: { en: 'Postmark', 'zh-CN': 'Postmark' },
  isConfigured: () => secret() !== '',
  reports: [{ channel: 'mail' }],
  mailHeaders: (reference) => ({ 'X-PM-Metadata-ref': reference, 'X-PM-KeepID': 'true' }),
  receive(request) {
    requireSecret(request, secret())
    const event = parseObject(request.body)
    const state = stateOf(event)
    if (state === undefined) return { receipts: [] }
    const { RecordType: type, ID: id, MessageID: messageId } = event
    const recipient = event['Recipient'] ?? event['Email']
    const time = event['DeliveredAt'] ?? event['BouncedAt'] ?? event['ChangedAt']
    const receipt = {
      // The number in `ID` can have more digits than JavaScript reads, so it does not identify a bounce alone.
      id: hashOf(type, id, messageId, recipient, time),
      channel: 'mail',
      provider: 'postmark',
      messageId: textOf(messageId),
      reference: referenceOf(valueAtPath(event, 'Metadata.ref') ?? valueAtPath(event, 'Metadata.Ref')),
      at: timeOf(time),
      detail:
        [textOf(event['Type']), textOf(event['Details'])].filter((part) => part !== undefined).join(': ') || undefined,
      ...state,
    }
    return { receipts: [receipt] }
  },
})

type State = Pick<DeliveryReport, 'state' | 'bounce'>

/** Types of a bounce (Postmark, "Bounce types"). Other types say nothing about the message. */
const bounceTypes: Readonly<Record<string, State | undefined>> = {
  HardBounce: { state: 'bounced', bounce: 'hard' },
  BadEmailAddress: { state: 'bounced', bounce: 'hard' },
  SoftBounce: { state: 'bounced', bounce: 'soft' },
  Transient: { state: 'delayed' },
  DnsError: { state: 'delayed' },
  Blocked: { state: 'failed' },
  DMARCPolicy: { state: 'failed' },
  ManuallyDeactivated: { state: 'failed' },
  VirusNotification: { state: 'failed' },
  SMTPApiError: { state: 'failed' },
  TemplateRenderingFailed: { state: 'failed' },
  SpamComplaint: { state: 'complained' },
  SpamNotification: { state: 'complained' },
}

function stateOf(event: JsonObject): State | undefined {
  switch (event['RecordType']) {
    case 'Delivery':
      return { state: 'delivered' }
    case 'SpamComplaint':
      return { state: 'complained' }
    case 'Bounce':
      return bounceTypes[textOf(event['Type']) ?? '']
    default:
      return undefined
  }
}
