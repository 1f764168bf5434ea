import { count, nullable, Type, text } from '@plinth/http'
import { BusinessError, columnText, type DeliveryOutcome, type NotificationMessage } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'

const textOrNull = nullable(text)

export const outcomeName = Type.Enum(['accepted', 'rejected', 'deferred', 'unknown'], {
  description: '`unknown`: it may or may not have been sent.',
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
  retryAfterMs: Type.Optional(count),
  skipped: Type.Optional(Type.Boolean()),
  queued: Type.Optional(Type.Boolean({ description: 'True when the message is kept and will be sent by a worker.' })),
})

type Failure = Partial<SendResult> & Pick<SendResult, 'outcome'>

/** The result of a message that was not sent. */
export const failure = (
  channel: string,
  { id }: Pick<NotificationMessage, 'id'>,
  errorCode: string,
  errorMessage: string,
  more: Failure = { outcome: 'rejected' },
): SendResult => ({ channel, success: false, messageId: id, errorCode, errorMessage, ...more })

/** What a channel answered, as a result. */
export function resultOf(
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
  }
  if (outcome === 'accepted') {
    const messageId = delivery.messageId ?? message.id
    return { channel, success: true, outcome, messageId, errorCode: null, errorMessage: null, ...said }
  }
  const wait = outcome === 'deferred' ? delivery.retryAfterMs : undefined
  const again = wait === undefined || !Number.isFinite(wait) ? {} : { retryAfterMs: Math.max(0, Math.ceil(wait)) }
  return failure(channel, message, delivery.errorCode, delivery.errorMessage, { outcome, ...again, ...said })
}

/** Code points of a text that a provider sent. */
const longestText = 1_000

/**
 * A result without secrets. Every result of a channel passes here, so a channel that repeats a secret shows none: a provider
 * may return the credentials or the content of a request. Secrets of the configuration are masked in every member; those of
 * the message only in texts, because a short one may be part of an id or a code by chance.
 *
 * @param redact masks the secrets of the configuration and the given ones
 * @param secrets those of the message
 */
export function withoutSecrets(
  result: SendResult,
  redact: (text: string, more?: Iterable<unknown>) => string,
  secrets: readonly string[],
): SendResult {
  const masked = Object.entries(result).map(([name, value]) => {
    if (typeof value !== 'string' || name === 'channel' || name === 'outcome') return [name, value]
    // The text is cut after the search: the first half of a secret is not recognised.
    return [name, texts.has(name) ? columnText(redact(value, secrets), longestText) : redact(value)]
  })
  return Object.fromEntries(masked)
}

const texts: ReadonlySet<string> = new Set(['errorMessage', 'providerMessage', 'hint'])

/** One result for a message that went to its recipients one by one: that of the first that failed, when one did. */
export function resultOfAll(messageId: string, results: readonly SendResult[]): SendResult {
  const failed = results.filter(({ success }) => !success)
  const [first] = failed
  if (first === undefined) return { ...(results[0] as SendResult), messageId }
  if (results.length === 1) return first
  return {
    ...first,
    messageId,
    errorMessage: `${failed.length} of ${results.length} recipients: ${first.errorMessage}`,
  }
}

/** Answers the result; throws when the message was not sent. */
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
