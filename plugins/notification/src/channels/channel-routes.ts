import { bulkRateLimit, type HttpRequest, id, instant, line, nullable, routesWith, Type, text } from '@plinth/http'
import { type Identity, requirePrincipal } from '@plinth/iam'
import { auditFieldsOfCaller, channelChecks } from '@plinth/kernel'
import { permissionCodes } from '../declarations.ts'
import { outcomeName } from '../facade/results.ts'
import { maxEntries } from './channel-entries.ts'
import { type ChannelOverview, channelStates } from './channel-overview.ts'
import type { ChannelTests } from './channel-tests.ts'
import { testFields } from './channel-tests.ts'
import { type ChannelVerifier, verifyDeadlineMs } from './channel-verifier.ts'

interface ChannelRouteDependencies {
  readonly overview: ChannelOverview
  readonly verifier: ChannelVerifier
  readonly tests: ChannelTests
  /** Undefined in a product without users. */
  readonly identity: Pick<Identity, 'assertInScope'> | undefined
}

const path = '/api/v1/admin/notification/channels'
const params = Type.Object({
  code: line(130, {
    minLength: 1,
    description: 'Code of a channel, such as `mail`, or of a provider, such as `webhook.dingtalk`.',
  }),
})
const textOrNull = nullable(text)
const instantOrNull = nullable(instant)
const check = Type.Enum(channelChecks)

const channelView = Type.Object({
  code: text,
  channel: text,
  provider: nullable(text, {
    description: 'Code of the provider behind the channel. Null if this is the channel itself.',
  }),
  displayName: text,
  plugin: nullable(text, { description: 'Plugin that contributes the channel.' }),
  enabled: Type.Boolean(),
  isDefault: Type.Boolean(),
  state: Type.Enum(channelStates, {
    description:
      '`incomplete`: configuration keys are missing. `resting`: it failed, so other providers are used first until the time `until`. ' +
      '`limited`: its message limit is reached until the time `until`. Both describe the instance that responds. `failing`: the last ' +
      'sends were deferred or have an unknown outcome, or the last three were rejected.',
  }),
  failingSince: instantOrNull,
  until: nullable(instant, { description: 'End of the states `resting` and `limited`.' }),
  missingKeys: Type.Array(text, { description: 'Configuration keys that are required for sending but have no value.' }),
  verifiable: Type.Boolean({ description: 'False if a check only covers the configuration.' }),
  testField: Type.Enum(testFields, {
    description: 'Field that a test message requires. `openId` also requires `accountCode`.',
  }),
  lastSuccessAt: nullable(instant, {
    description:
      'Time of the last accepted send. This member and the next three come from the send log. They are null for callers without the data scope `all`.',
  }),
  lastFailureAt: instantOrNull,
  lastFailureReason: textOrNull,
  lastFailureId: nullable(id),
})

const detailView = Type.Object({
  ...channelView.properties,
  keys: Type.Array(Type.Object({ key: text, missing: Type.Boolean() }), {
    description: 'Configuration keys that the channel needs for sending.',
  }),
})

const verificationView = Type.Object({
  code: text,
  verified: Type.Boolean({
    description: 'True if all checks passed. This does not guarantee that messages arrive.',
  }),
  checked: Type.Array(check, { description: 'Checks that passed.' }),
  failedCheck: nullable(check, {
    description: 'Check that failed. Null if all passed, or if the failed check is unknown.',
  }),
  reason: textOrNull,
  detail: nullable(text, { description: 'Original message of the next hop.' }),
})

const testBody = Type.Object({
  email: Type.Optional(line(254)),
  mobile: Type.Optional(line(32)),
  userId: Type.Optional(id),
  openId: Type.Optional(line(128)),
  accountCode: Type.Optional(line(64)),
  receiver: Type.Optional(line(200, { description: 'Chat or person. Required by some providers.' })),
})

const testView = Type.Object({
  outcome: outcomeName,
  skipped: Type.Boolean({ description: 'True if nothing was sent. `reason` contains the cause.' }),
  reason: textOrNull,
  hint: textOrNull,
  errorCode: textOrNull,
  provider: textOrNull,
  providerCode: textOrNull,
  providerMessage: textOrNull,
  logId: nullable(id, { description: 'Id of the row in the send log.' }),
})

const { route } = routesWith<ChannelRouteDependencies>()

/**
 * Removes the last sends from the response unless the caller has the data scope `all`, because these sends concern all
 * organisations.
 */
const lastSends = (request: HttpRequest) =>
  requirePrincipal(request).dataScope === 'all'
    ? {}
    : { lastSuccessAt: null, lastFailureAt: null, lastFailureReason: null, lastFailureId: null }

export const channelRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'List channels and their providers with their state',
    access: { permission: permissionCodes.sendLogView, scope: 'caller' },
    request: { query: Type.Object({ state: Type.Optional(channelView.properties.state) }) },
    response: Type.Array(channelView, { maxItems: maxEntries }),
    reasons: ['notification.channel-not-found'],
    handler: async (request, { overview }) => {
      const { state: wanted } = request.query
      const sends = lastSends(request)
      const channels = await overview.list(request.locale)
      return channels
        .filter(({ state }) => wanted === undefined || state === wanted)
        .map((channel) => ({ ...channel, ...sends }))
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:code`,
    summary: 'Get a channel or a provider with its required keys',
    access: { permission: permissionCodes.sendLogView, scope: 'caller' },
    request: { params },
    response: detailView,
    reasons: ['notification.channel-not-found'],
    handler: async (request, { overview }) => ({
      ...(await overview.one(request.params.code, request.locale)),
      ...lastSends(request),
    }),
  }),
  route({
    method: 'POST',
    path: `${path}/:code/verify`,
    summary: 'Check whether a channel can send; sends nothing',
    description: `The check ends after ${verifyDeadlineMs / 1000} seconds. If the channel cannot be queried, only its configuration is checked.`,
    access: { permission: permissionCodes.messageSend, scope: 'none' },
    annotations: [bulkRateLimit],
    request: { params },
    response: verificationView,
    reasons: ['notification.channel-not-found'],
    handler: async (request, { verifier }) => {
      const { checked, ...result } = await verifier.verify(
        request.params.code,
        request.locale,
        auditFieldsOfCaller(request),
      )
      return { ...result, checked: [...checked] }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:code/test`,
    summary: 'Send a short test message through one channel',
    description:
      'Returns the outcome that the send log stores. A recipient user must be in the data scope of the caller.',
    access: { permission: permissionCodes.messageSend, scope: 'caller' },
    annotations: [bulkRateLimit],
    request: { params, body: testBody },
    response: testView,
    reasons: ['iam.out-of-scope', 'notification.channel-not-found', 'notification.test-recipient-missing'],
    async handler(request, { tests, identity }) {
      const { params, body, locale, principal } = request
      const { userId } = body
      const userIds = userId === undefined ? [] : [userId]
      await identity?.assertInScope(requirePrincipal(request), userIds, 'userId')
      const sender = { userId: principal?.userId ?? null, name: principal?.username ?? null }
      const tested = await tests.send(params.code, body, { locale, sender, caller: auditFieldsOfCaller(request) })
      return testViewOf(tested)
    },
  }),
]

const testViewOf = ({ result, reason, logId }: Awaited<ReturnType<ChannelTests['send']>>) => ({
  outcome: result.outcome,
  skipped: result.skipped === true,
  reason,
  hint: result.hint ?? null,
  errorCode: result.errorCode,
  provider: result.provider ?? null,
  providerCode: result.providerCode ?? null,
  providerMessage: result.providerMessage ?? null,
  logId,
})
