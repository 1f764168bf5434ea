import { id, instant, line, nullable, rateLimited, routesWith, Type, text, withDescription } from '@plinth/http'
import { type Identity, outOfScope, type Principal, requirePrincipal } from '@plinth/iam'
import { idempotentResumable } from '@plinth/idempotency'
import { type ChannelProvider, localize, type Recipient } from '@plinth/kernel'
import { businessError, permissionCodes } from '../declarations.ts'
import { priorities } from '../entities.ts'
import type { MessageRenderer } from '../rendering.ts'
import { type AdministratorsSend, maxConcurrent } from './administrators-send.ts'
import { type Audience, audiences, maxListedUsers } from './audience.ts'
import { type ChannelNotification, compose } from './channel-notification.ts'
import type { OutgoingMessages } from './outgoing.ts'
import { sendResult } from './results.ts'
import { requireSentAttributes, sentAttributes, socialFields, socialMessageTypes } from './sent-attributes.ts'

const attributeValue = Type.Union([Type.String({ maxLength: 2_000 }), Type.Number(), Type.Boolean()])

const messageTexts = {
  template: Type.Optional(Type.String({ maxLength: 128, description: 'Code of the template.' })),
  variables: Type.Optional(
    Type.Record(
      Type.String({ maxLength: 128 }),
      Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
    ),
  ),
  subject: Type.Optional(Type.String({ maxLength: 500 })),
  content: Type.Optional(Type.String({ maxLength: 20_000 })),
  locale: Type.Optional(Type.String({ maxLength: 35, description: 'Language of the message as BCP 47 tag.' })),
}

const receivers = {
  channels: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
      maxItems: 20,
      description: 'Codes of channels. If empty: `database`, or the default channel if `database` is not loaded.',
    }),
  ),
  recipientUserIds: Type.Optional(
    Type.Array(id, {
      maxItems: 10_000,
      description: 'Ids of recipient users. Duplicates are ignored.',
    }),
  ),
}

const sendBody = Type.Object({
  ...receivers,
  allUsers: Type.Optional(
    Type.Boolean({
      description:
        'Sends the message to all users who exist when it is sent, instead of `recipientUserIds`. Requires the data scope `all`.',
    }),
  ),
  ...messageTexts,
  attributes: Type.Optional(
    Type.Record(Type.String({ maxLength: 128 }), attributeValue, {
      description:
        'Target that opens from the message, and options of channels by name, such as `{"webhook.provider": "ntfy", "webhook.ntfy.topic": "ops"}`. Keys, tokens and robot URLs are not allowed.',
    }),
  ),
  notBefore: Type.Optional(
    withDescription(instant, 'Time before which the message is not sent, at most 366 days ahead.'),
  ),
  priority: Type.Optional(
    Type.Enum(priorities, { description: '`critical`: the message is also sent during quiet hours.' }),
  ),
})

const providerAttribute = Type.Object({
  name: text,
  displayName: text,
  type: Type.Enum(['text', 'integer', 'boolean', 'list', 'object', 'objects'], {
    description: 'Type of the value. Write a list as `a,b`, and `object` and `objects` (a list of objects) as JSON.',
  }),
  values: nullable(Type.Array(text, { description: 'Allowed values. Null: any value.' })),
  minimum: nullable(Type.Number({ description: 'Minimum value of an integer, or minimum number of items of a list.' })),
  maximum: nullable(Type.Number({ description: 'Maximum value of an integer, or maximum number of items of a list.' })),
  sensitive: Type.Boolean({
    description: 'True if the attribute comes only from the configuration. Messages must not contain it.',
  }),
})

const sendMetadata = Type.Object({
  channels: Type.Array(
    Type.Object({
      code: text,
      displayName: text,
      enabled: Type.Boolean(),
      isDefault: Type.Boolean(),
      recipientKinds: Type.Array(text),
      providers: Type.Array(
        Type.Object({
          code: text,
          displayName: text,
          messageTypes: Type.Array(text),
          attributes: Type.Array(providerAttribute),
        }),
        { description: 'Providers of the channel, for its attribute `<channel>.provider`.' },
      ),
    }),
  ),
  socialMessageTypes: Type.Array(Type.Object({ code: text, displayName: text })),
  socialFields: Type.Array(
    Type.Object({
      name: text,
      displayName: text,
      required: Type.Boolean(),
      requiredFor: Type.Array(text, { description: 'Message types that require the attribute.' }),
      sensitive: Type.Boolean(),
      messageTypes: Type.Array(text, { description: 'Message types that use the attribute.' }),
    }),
  ),
  attributes: Type.Array(text, { description: 'Attributes that a message can have.' }),
})

const channelAudience = Type.Object({
  channel: text,
  enabled: Type.Boolean(),
  audience: Type.Enum(audiences, {
    description:
      '`users`: the users get the message. `fixed`: it goes to the receiver in the configuration. `none`: nobody gets it.',
  }),
  reached: Type.Integer({ minimum: 0, description: 'Number of users who get the message.' }),
  withoutAddress: Type.Integer({ minimum: 0, description: 'Number of users without an address for the channel.' }),
  withoutAddressIds: Type.Array(id, {
    maxItems: maxListedUsers,
    description: 'The first users without an address.',
  }),
  unwanted: Type.Integer({
    minimum: 0,
    description: 'Number of users who have switched off such messages on the channel.',
  }),
  quiet: Type.Integer({
    minimum: 0,
    description: 'Number of users in quiet hours now. They get the message later, unless it is critical.',
  }),
})

interface SendRouteDependencies {
  readonly notification: Pick<ChannelNotification, 'channels' | 'codesOf'>
  readonly administrators: AdministratorsSend
  readonly audience: Audience
  readonly outgoing: Pick<OutgoingMessages, 'requireChannel' | 'administratorsChannel'>
  readonly rendering: MessageRenderer
  /** Checks the data scope of the sender. Undefined in a product without users. */
  readonly identity: Pick<Identity, 'assertInScope'> | undefined
}

const { route } = routesWith<SendRouteDependencies>()

/** @throws BusinessError "400" `notification.all-users-alone`, "403" `iam.out-of-scope` */
function assertMaySendToAll(userIds: readonly number[], { dataScope }: Pick<Principal, 'dataScope'>): void {
  if (userIds.length > 0) throw businessError('all-users-alone', { data: { field: 'recipientUserIds' } })
  if (dataScope !== 'all') throw outOfScope('allUsers')
}

const providerView = ({ code, displayName, messageTypes, attributes }: ChannelProvider, locale: string) => ({
  code,
  displayName: localize(displayName, locale),
  messageTypes: [...messageTypes],
  attributes: attributes.map(({ title, values, minimum = null, maximum = null, ...attribute }) => ({
    ...attribute,
    displayName: localize(title, locale),
    values: values === undefined ? null : [...values],
    minimum,
    maximum,
  })),
})

/** Routes that send messages and preview them (document 2 of the specification, "Endpoints"). */
export const sendRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/notifications/send',
    legacyPath: true,
    summary: 'Send a message through one or more channels',
    description:
      'Returns one result per channel. If only one channel is used and fails, the response is a business error. If a recipient ' +
      'is outside the data scope of the caller, nothing is sent. With more than ' +
      `${maxConcurrent} recipients, with \`notBefore\`, or with a recipient in quiet hours, the message is stored and sent by a ` +
      'worker. Its results are then `queued`, and its outcomes appear in the list of messages.',
    access: { permission: permissionCodes.messageSend, scope: 'caller' },
    annotations: [rateLimited({ maxAttempts: 30, windowSeconds: 60 }), idempotentResumable],
    request: { body: sendBody },
    response: Type.Array(sendResult),
    reasons: [
      '*',
      'iam.out-of-scope',
      'notification.all-users-alone',
      'notification.attribute-refused',
      'notification.channel-unknown',
      'notification.message-empty',
      'notification.no-queue',
      'notification.not-before-too-far',
      'notification.not-for-all',
      'notification.not-durable',
      'notification.recipient-missing',
    ],
    async handler(request, { notification, administrators, identity }) {
      const { body, traceId, principal } = request
      const { channels = [], recipientUserIds = [], allUsers = false, attributes = {}, ...more } = body
      const { notBefore, priority = 'normal', ...texts } = more
      requireSentAttributes(attributes, () => notification.channels())
      const userIds = [...new Set(recipientUserIds)]
      await identity?.assertInScope(requirePrincipal(request), userIds, 'recipientUserIds')
      if (allUsers) assertMaySendToAll(userIds, requirePrincipal(request))
      const recipients: Recipient[] = allUsers
        ? [{ kind: 'all-users' }]
        : userIds.map((userId) => ({ kind: 'user', userId }))
      const draft = { ...texts, recipients, attributes: { ...attributes, traceId } }
      const moment = notBefore === undefined ? undefined : Date.parse(notBefore)
      const sender = { userId: principal?.userId ?? null, name: principal?.username ?? null }
      const results = await administrators.send(draft, { channels, notBefore: moment, priority }, sender)
      return [...results]
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/notifications/send-metadata',
    legacyPath: true,
    summary: 'Get the channels, templates and options for sending messages',
    access: { permission: permissionCodes.messageSend, scope: 'none' },
    response: sendMetadata,
    reasons: [],
    handler: ({ locale }, { notification }) => ({
      channels: notification.channels().map(({ displayName, recipientKinds, providers, ...channel }) => ({
        ...channel,
        displayName: localize(displayName, locale),
        recipientKinds: [...recipientKinds],
        providers: providers.map((provider) => providerView(provider, locale)),
      })),
      socialMessageTypes: socialMessageTypes.map(({ code, displayName }) => ({
        code,
        displayName: localize(displayName, locale),
      })),
      socialFields: socialFields.map((field) => ({
        ...field,
        displayName: localize(field.displayName, locale),
        requiredFor: [...field.requiredFor],
        messageTypes: [...field.messageTypes],
      })),
      attributes: [...sentAttributes(notification.channels())],
    }),
  }),
  route({
    method: 'POST',
    path: '/api/v1/notifications/template-preview',
    legacyPath: true,
    summary: 'Preview a message for a channel; sends and logs nothing',
    access: { permission: permissionCodes.messageSend, scope: 'none' },
    annotations: [rateLimited({ maxAttempts: 120, windowSeconds: 60 })],
    request: {
      body: Type.Object({
        channel: Type.Optional(
          Type.String({ minLength: 1, maxLength: 64, description: 'Code of the channel. Default: as for sending.' }),
        ),
        ...messageTexts,
      }),
    },
    response: Type.Object({
      subject: text,
      content: text,
      html: nullable(text),
      missingVariables: Type.Array(text, { description: 'Variables that the template needs and the message lacks.' }),
      variables: Type.Array(
        Type.Object({
          name: text,
          needed: Type.Boolean({ description: 'False if the text is complete without the variable.' }),
        }),
        { description: 'Variables of the template. A dotted name is a member: `user.name`.' },
      ),
      templateLocale: nullable(text, {
        description: 'Language of the template that fits best. Null if no template fits, or the message has none.',
      }),
      fallback: Type.Array(
        Type.Object({
          locale: text,
          rule: Type.Enum(['exact', 'language', 'region'], {
            description:
              'How templates were compared: the same tag, the same language and script without a region, or with another region.',
          }),
          isDefaultLanguage: Type.Boolean({ description: 'True for the default language.' }),
          found: nullable(text, {
            description: 'Language of the template that was taken. Null: the search continues.',
          }),
        }),
        { maxItems: 6, description: 'Languages that were tried, in this order.' },
      ),
    }),
    reasons: ['notification.channel-unknown', 'notification.message-empty', 'template.output-too-large'],
    async handler({ body: { channel, ...draft } }, { outgoing, rendering }) {
      const code = (channel ?? outgoing.administratorsChannel).trim().toLowerCase()
      const { traits } = outgoing.requireChannel(code, 'channel')
      const preview = await rendering.preview(compose(draft), code, traits)
      const { missingVariables, variables, fallback, ...shown } = preview
      return { ...shown, missingVariables: [...missingVariables], variables: [...variables], fallback: [...fallback] }
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/admin/notification/audience',
    summary: 'Count who would get a message on each channel; sends nothing',
    access: { permission: permissionCodes.messageSend, scope: 'caller' },
    annotations: [rateLimited({ maxAttempts: 120, windowSeconds: 60 })],
    request: {
      body: Type.Object({
        ...receivers,
        module: Type.Optional(line(64, { description: 'Attribute `module` of the message, for its category.' })),
      }),
    },
    response: Type.Array(channelAudience),
    reasons: ['iam.out-of-scope', 'notification.channel-unknown'],
    async handler(request, { notification, outgoing, audience, identity }) {
      const { channels = [], recipientUserIds = [], module } = request.body
      const userIds = [...new Set(recipientUserIds)]
      await identity?.assertInScope(requirePrincipal(request), userIds, 'recipientUserIds')
      const codes = notification.codesOf(channels.length === 0 ? [outgoing.administratorsChannel] : channels)
      const counted = await audience.count(codes, userIds, module)
      return counted.map((one) => ({ ...one, withoutAddressIds: [...one.withoutAddressIds] }))
    },
  }),
]
