import type { DeliveryOutcome } from '@plinth/kernel'
import { defined } from '@plinth/kernel'
import { memberAt } from '@plinth/outgoing-http'

/** What a company's code means for the operator: the outcome, and a hint by its name in `messages.sms.hints`. */
export interface CodeMeaning {
  readonly outcome: 'rejected' | 'deferred'
  readonly hint: SmsHint
}

export type SmsHint =
  | 'credentials-refused'
  | 'permission-missing'
  | 'signature-refused'
  | 'template-refused'
  | 'template-unmapped'
  | 'params-refused'
  | 'number-refused'
  | 'recipient-blocked'
  | 'balance-empty'
  | 'too-frequent'
  | 'sender-refused'
  | 'driver-busy'

export const rejected = (hint: SmsHint): CodeMeaning => ({ outcome: 'rejected', hint })
export const deferred = (hint: SmsHint): CodeMeaning => ({ outcome: 'deferred', hint })

/**
 * A message that a company refused, by its code. A code that nobody knows is refused for good, because sending again costs
 * money; with a status of 5xx nobody knows what has happened.
 */
export function refused(
  provider: string,
  { status, code, message }: { readonly status: number; readonly code: string; readonly message: string },
  meaning: CodeMeaning | undefined,
): DeliveryOutcome {
  if (meaning === undefined && status >= 500) return withoutCode(provider, status)
  return defined({
    outcome: meaning?.outcome ?? 'rejected',
    errorCode: `sms.${meaning?.hint ?? 'refused'}`,
    errorMessage: 'The SMS driver refused the message',
    provider,
    providerCode: code,
    // The facade masks secrets before it cuts the text.
    providerMessage: message,
    hint: meaning === undefined ? undefined : `messages.sms.hints.${meaning.hint}`,
  })
}

/**
 * An answer without the company's own code. 429 and 503 come from what stands before its servers and took nothing; after
 * another answer of 5xx, and one that cannot be read, it may have sent the message.
 */
export function withoutCode(provider: string, status: number): DeliveryOutcome {
  const said = { provider, providerCode: String(status) }
  if (status === 429 || status === 503) {
    const hint = 'messages.sms.hints.driver-busy'
    return { outcome: 'deferred', errorCode: 'sms.driver-busy', errorMessage: 'The SMS driver is busy', hint, ...said }
  }
  if (status >= 400 && status < 500) {
    return { outcome: 'rejected', errorCode: 'sms.refused', errorMessage: 'The SMS driver refused the call', ...said }
  }
  return {
    outcome: 'unknown',
    errorCode: 'sms.answer-unreadable',
    errorMessage: 'The SMS driver answered nothing that says whether it took the message',
    ...said,
  }
}

/** Of a company that sends registered templates only: no code of it belongs to the message, so nothing was asked of it. */
export const withoutTemplate = (provider: string): DeliveryOutcome => ({
  outcome: 'rejected',
  errorCode: 'sms.template-unmapped',
  errorMessage: `The message has no template code of the SMS driver "${provider}", which sends registered templates only`,
  provider,
  hint: 'messages.sms.hints.template-unmapped',
})

/** A member of a company's answer that is a text or a number, as text. */
export function textAt(answer: unknown, path: string): string | undefined {
  const value = memberAt(answer, path)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
