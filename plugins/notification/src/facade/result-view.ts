import { count, nullable, Type, text } from '@plinth/http'

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
