import type { Receipt } from './contract.ts'
import { hashOf } from './sources/proof.ts'

/** An event `sms.receipt`, which the plugin `sms` publishes after it verified the receipt. */
interface SmsReceipt {
  readonly driver: string
  readonly messageId: string
  readonly status: 'delivered' | 'failed'
  readonly code: string | null
  readonly state?: string
  readonly reference?: string
}

/** Error codes of Twilio for a number that does not exist or cannot receive text messages. */
const hardCodes: readonly unknown[] = ['30005', '30006']

/** Returns the receipt of a text message (Twilio, "Message status values"). */
export function receiptOfSms({ driver, messageId, status, code, state, reference }: SmsReceipt): Receipt {
  const isHard = hardCodes.includes(code)
  const result =
    status === 'delivered'
      ? ({ state: 'delivered' } as const)
      : state === 'failed' && !isHard
        ? ({ state: 'failed' } as const)
        : ({ state: 'bounced', bounce: isHard ? 'hard' : 'soft' } as const)
  return {
    id: hashOf(messageId, state ?? status),
    channel: 'sms',
    provider: driver,
    messageId,
    reference,
    detail: code ?? undefined,
    ...result,
  }
}
