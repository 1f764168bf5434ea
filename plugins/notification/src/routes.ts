import { count, id, nullable, rateLimited, routesWith, Type, text } from '@plinth/http'
import { type Identity, requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { localize } from '@plinth/kernel'
import type { Notification } from './contract.ts'
import { own } from './permissions.ts'
import { requireSuccess } from './service.ts'

const sendBody = Type.Object({
  channels: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      maxItems: 20,
      description: 'Channel codes; empty: the default channel',
    }),
  ),
  recipientUserIds: Type.Optional(
    Type.Array(id, {
      maxItems: 1000,
      description: 'Users to reach; duplicates count once',
    }),
  ),
  template: Type.Optional(Type.String({ maxLength: 128, description: 'Template code' })),
  variables: Type.Optional(
    Type.Record(
      Type.String({ maxLength: 128 }),
      Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
    ),
  ),
  subject: Type.Optional(Type.String({ maxLength: 500 })),
  content: Type.Optional(Type.String({ maxLength: 20_000 })),
  locale: Type.Optional(Type.String({ maxLength: 35, description: 'BCP 47 language tag of the message' })),
})

const textOrNull = nullable(text)
export const sendResult = Type.Object({
  channel: text,
  success: Type.Boolean(),
  outcome: Type.Enum(['accepted', 'rejected', 'deferred', 'unknown'], {
    description: '`unknown`: it may or may not have been sent.',
  }),
  messageId: text,
  errorCode: textOrNull,
  errorMessage: textOrNull,
  provider: Type.Optional(text),
  providerCode: Type.Optional(text),
  providerMessage: Type.Optional(text),
  hint: Type.Optional(text),
  retryAfterMs: Type.Optional(count),
  skipped: Type.Optional(Type.Boolean()),
})

const sendMetadata = Type.Object({
  channels: Type.Array(
    Type.Object({
      code: text,
      displayName: text,
      enabled: Type.Boolean(),
      isDefault: Type.Boolean(),
      recipientKinds: Type.Array(text),
    }),
  ),
})

interface SendRouteParts {
  readonly notification: Notification
  /** Judges the data scope of who sends (decision A5); absent where the product has no users. */
  readonly identity: Pick<Identity, 'assertInScope'> | undefined
}

const { route } = routesWith<SendRouteParts>()

/** Routes of document 2, "Endpoints", with the permission of decision B41. */
export const sendRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/notifications/send',
    summary: 'Send a message through one or more channels',
    description:
      'Answers one result per channel. A single channel that fails is answered as a business failure. A recipient outside the ' +
      'data scope of the caller refuses the whole before any channel is asked.',
    access: { permission: own.messageSend },
    annotations: [rateLimited({ maxAttempts: 30, windowSeconds: 60 }), idempotent],
    request: { body: sendBody },
    response: Type.Array(sendResult),
    async handler(request, { notification, identity }) {
      const { body, traceId } = request
      const { channels = [], recipientUserIds = [], ...draft } = body
      await identity?.assertInScope(requirePrincipal(request), recipientUserIds)
      const recipients = [...new Set(recipientUserIds)].map((userId) => ({ kind: 'user' as const, userId }))
      const results = await notification.send({ ...draft, recipients, attributes: { traceId } }, { channels })
      const [first] = results
      const nothingTried = results.every(({ errorCode }) => errorCode === 'notification.disabled')
      if (first !== undefined && (results.length === 1 || nothingTried)) requireSuccess(first)
      return [...results]
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/notifications/send-metadata',
    summary: 'What a page that sends messages has to offer',
    access: { permission: own.messageSend },
    response: sendMetadata,
    handler: ({ locale }, { notification }) => ({
      channels: notification.channels().map(({ displayName, recipientKinds, ...channel }) => ({
        ...channel,
        displayName: localize(displayName, locale),
        recipientKinds: [...recipientKinds],
      })),
    }),
  }),
]
