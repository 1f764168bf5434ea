import { inspect } from 'node:util'
import { count, nullable, Type, text, withDescription } from '@plinth/http'
import {
  BusinessError,
  type DeliveryOutcome,
  fitTextToColumn,
  type NotificationMessage,
  type OutcomeName,
} from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import { notificationError } from '../declarations.ts'

const textOrNull = nullable(text)

export const outcomeName = Type.Enum(['accepted', 'rejected', 'deferred', 'unknown'], {
  description: '`unknown`: the message may or may not have been sent.',
})

export const sendResult = Type.Object({
  channel: text,
  success: Type.Boolean(),
  outcome: outcomeName,
  messageId: text,
  errorCode: textOrNull,
  errorMessage: textOrNull,
  provider: Type.Optional(text),
  providerCode: Type.Optional(text),
  providerMessage: Type.Optional(text),
  hint: Type.Optional(text),
  hintKey: Type.Optional(withDescription(text, 'Key of the text in `hint`, if the channel has a key for it.')),
  retryAfterMs: Type.Optional(count),
  isAttempted: Type.Optional(
    Type.Boolean({ description: 'False if the message waits for a rate limit of the product.' }),
  ),
  skipped: Type.Optional(Type.Boolean()),
  queued: Type.Optional(Type.Boolean({ description: 'True if the message is stored and will be sent by a worker.' })),
})

type Failure = Partial<SendResult> & Pick<SendResult, 'outcome'>

export const failedSendResult = (
  channel: string,
  { id }: Pick<NotificationMessage, 'id'>,
  errorCode: string,
  errorMessage: string,
  more: Failure = { outcome: 'rejected' },
): SendResult => ({ channel, success: false, messageId: id, errorCode, errorMessage, ...more })

const failures: readonly unknown[] = ['rejected', 'deferred', 'unknown'] satisfies readonly OutcomeName[]

/**
 * Checks what a channel returned, because a channel in plain JavaScript may return anything.
 *
 * @throws PlinthError `PLINTH_NOTIFICATION_RESULT`
 */
export function assertOutcome(channel: string, result: DeliveryOutcome): void {
  const { outcome, errorCode, errorMessage } = Object(result)
  if (outcome === 'accepted') return
  if (failures.includes(outcome) && typeof errorCode === 'string' && typeof errorMessage === 'string') return
  throw notificationError('PLINTH_NOTIFICATION_RESULT', { channel, result: inspect(result, { depth: 0 }) })
}

export function sendResultOf(
  channel: string,
  message: NotificationMessage,
  delivery: DeliveryOutcome,
  hintText: (hint: string) => string,
): SendResult {
  const { outcome, provider, providerCode, providerMessage, hint } = delivery
  const said = {
    ...(provider === undefined ? {} : { provider }),
    ...(providerCode === undefined ? {} : { providerCode }),
    ...(providerMessage === undefined ? {} : { providerMessage }),
    ...(hint === undefined ? {} : { hint: hintText(hint) }),
    ...(hint === undefined || hintText(hint) === hint ? {} : { hintKey: hint }),
  }
  if (outcome === 'accepted') {
    const messageId = delivery.messageId ?? message.id
    return { channel, success: true, outcome, messageId, errorCode: null, errorMessage: null, ...said }
  }
  const wait = outcome === 'deferred' ? delivery.retryAfterMs : undefined
  const again = wait === undefined || !Number.isFinite(wait) ? {} : { retryAfterMs: Math.max(0, Math.ceil(wait)) }
  const unattempted = outcome === 'deferred' && delivery.isAttempted === false ? { isAttempted: false } : {}
  const more = { outcome, ...again, ...unattempted, ...said }
  return failedSendResult(channel, message, delivery.errorCode, delivery.errorMessage, more)
}

/** Maximum length of a text from a provider, in code points. */
const maxTextLength = 1_000

/**
 * A provider may repeat credentials or message content, so every outcome of a channel passes this function. Ids that the
 * product itself creates never do. Secrets of the configuration are masked everywhere. Secrets of the message are masked
 * only in texts, because a short secret could be part of an id by chance.
 *
 * @param redact function that masks secrets of the configuration and the secrets in its second argument
 * @param secrets secrets of the message
 * @param ownId id of the message, which the product created
 */
export function withoutSecrets(
  outcome: DeliveryOutcome,
  redact: (text: string, more?: Iterable<unknown>) => string,
  secrets: readonly string[],
  ownId: string,
): DeliveryOutcome {
  let masked: Record<string, unknown> | undefined
  for (const [name, value] of Object.entries(outcome)) {
    const kind = members[name]
    if (kind === undefined || typeof value !== 'string' || value === ownId) continue
    // Masks secrets before the text is cut, because a cut secret would not be recognised.
    const shown = kind === 'text' ? fitTextToColumn(redact(value, secrets), maxTextLength) : redact(value)
    if (shown !== value) masked = { ...(masked ?? outcome), [name]: shown }
  }
  return masked === undefined ? outcome : (masked as unknown as DeliveryOutcome)
}

/** Members of an outcome that may contain text of a provider. */
const members: Readonly<Record<string, 'text' | 'id'>> = {
  messageId: 'id',
  errorCode: 'id',
  provider: 'id',
  providerCode: 'id',
  errorMessage: 'text',
  providerMessage: 'text',
  hint: 'text',
}

/**
 * Returns one result for all recipients of a channel. If any send failed, the result is the first failure; failures that
 * are not sent again come first.
 */
export function combineSendResults(messageId: string, results: readonly SendResult[]): SendResult {
  const failed = results
    .filter(({ success }) => !success)
    .sort((a, b) => Number(a.queued ?? false) - Number(b.queued ?? false))
  const [first] = failed
  if (first === undefined) return { ...(results[0] as SendResult), messageId }
  if (results.length === 1) return first
  return {
    ...first,
    messageId,
    errorMessage: `${failed.length} of ${results.length} recipients: ${first.errorMessage}`,
  }
}

/** Returns the result of a successful send. @throws BusinessError "503" if the send failed */
export function requireSuccess(result: SendResult): SendResult {
  if (result.success) return result
  const reason =
    result.skipped === true && result.errorCode !== null ? result.errorCode : 'notification.delivery-failed'
  throw new BusinessError(
    '503',
    `The message was not sent through the channel "${result.channel}": ${result.errorMessage}`,
    {
      reason,
      params: { channel: result.channel },
      data: { result },
    },
  )
}
