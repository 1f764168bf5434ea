import { type AsyncTasks, taskStates } from '@plinth/async-task'
import type { Events } from '@plinth/events'
import {
  affectedCount,
  bulkRateLimit,
  id,
  idParams,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  nothing,
  rateLimited,
  routesWith,
  sortQuery,
  Type,
  text,
  version,
  versionQuery,
} from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import { operatorOf, ownerOfLaterWork, requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import type { NotificationPreferences } from '@plinth/inbox'
import { businessError, permissionCodes } from './declarations.ts'
import { opsSummary, silencedRuleCodes } from './ops-summary.ts'
import { ruleExport, ruleFilter } from './rule-export.ts'
import {
  opsSummaryView,
  ruleCode,
  ruleMembers,
  ruleView,
  templateView,
  templateViews,
  viewOfRule,
} from './rule-views.ts'
import type { Rules } from './rules.ts'

interface RuleRouteDependencies {
  readonly rules: Rules
  readonly tasks: AsyncTasks
  readonly i18n: Pick<Translator, 'translate'> | undefined
  readonly events: Pick<Events, 'publishedTypes'>
  /** Undefined in a product without preferences of users. */
  readonly preferences: Pick<NotificationPreferences, 'wanted'> | undefined
}

/** The path does not contain `/admin/`, because document 2 of the specification defines it in this form. */
const path = '/api/v1/notification-rules'
const largestBatch = 200
const sort = sortQuery({ id: 'id', code: 'code', createdAt: 'created_at' }, '-id')
const view = { permission: permissionCodes.ruleView, scope: 'caller' } as const
const optionalVersion = Type.Optional(version)

const batchBody = Type.Optional(
  Type.Object({ ids: Type.Optional(Type.Array(id, { minItems: 1, maxItems: largestBatch })) }),
)
const batchQuery = Type.Object({
  ids: Type.Optional(
    Type.String({
      maxLength: largestBatch * 17,
      pattern: '^[1-9][0-9]{0,15}(?:,[1-9][0-9]{0,15})*$',
      description: `Ids separated by commas, at most ${largestBatch}. Alternative to the body.`,
    }),
  ),
})
const taskView = Type.Object({
  id,
  type: text,
  status: Type.Enum(taskStates),
})

const { route } = routesWith<RuleRouteDependencies>()

/** Reason codes of the routes that read and write rules. */
const ruleReasons = [
  'notification-rules.channel-unknown',
  'notification-rules.code-taken',
  'notification-rules.event-invalid',
  'notification-rules.recipients-needed',
  'notification-rules.too-many',
  'notification-rules.unknown',
  'notification-rules.version-conflict',
]

/** Routes for operators (document 2 of the specification, "Notification rules"). */
export const ruleRoutes = [
  route({
    method: 'GET',
    path,
    legacyPath: true,
    summary: 'List notification rules',
    access: view,
    request: { query: Type.Object({ ...listQuery.properties, ...sort.properties, ...ruleFilter }) },
    response: listPage(ruleView),
    reasons: [],
    handler: (request, { rules }) =>
      listResponse(request.query, sort.parse(request.query.sort), async (window) =>
        mapListRows(await rules.list(request.query, requirePrincipal(request), window), viewOfRule),
      ),
  }),
  route({
    method: 'GET',
    path: `${path}/templates`,
    legacyPath: true,
    summary: 'List the built-in templates of rules',
    access: { ...view, scope: 'none' },
    response: Type.Array(templateView),
    reasons: [],
    handler: ({ locale }, { i18n, events }) => templateViews(i18n, locale, events.publishedTypes),
  }),
  route({
    method: 'GET',
    path: `${path}/ops-summary`,
    legacyPath: true,
    summary: 'Summarise the setup of notifications and the remaining steps',
    access: view,
    response: opsSummaryView,
    reasons: [],
    async handler(request, { rules, events, preferences }) {
      const all = await rules.all(requirePrincipal(request))
      const silenced = preferences === undefined ? [] : await silencedRuleCodes(all, preferences)
      return opsSummary(all, events.publishedTypes, silenced)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/export`,
    legacyPath: true,
    summary: 'Export the filtered rules as a CSV file; returns the task that writes it',
    access: view,
    annotations: [rateLimited({ maxAttempts: 10, windowSeconds: 60, keyStrategy: 'USER_ROUTE' }), idempotent],
    request: { body: Type.Optional(Type.Object(ruleFilter)) },
    response: taskView,
    reasons: ruleReasons,
    async handler(request, { tasks }) {
      const { body, locale } = request
      const ownerId = ownerOfLaterWork(request)
      const { id, type, status } = await tasks.submit(ruleExport, body ?? {}, { ownerId, locale })
      return { id, type, status }
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    legacyPath: true,
    summary: 'Get a rule',
    access: view,
    request: { params: idParams },
    response: ruleView,
    reasons: ['notification-rules.unknown'],
    handler: async (request, { rules }) => viewOfRule(await rules.get(request.params.id, requirePrincipal(request))),
  }),
  route({
    method: 'POST',
    path,
    legacyPath: true,
    summary: 'Create a rule',
    access: { permission: permissionCodes.ruleCreate, scope: 'caller' },
    annotations: [idempotent],
    request: { body: Type.Object({ code: ruleCode, ...ruleMembers }) },
    response: ruleView,
    reasons: [
      'notification-rules.channel-unknown',
      'notification-rules.code-taken',
      'notification-rules.recipients-needed',
      'notification-rules.too-many',
      'notification-rules.unknown',
    ],
    handler: async (request, { rules }) => viewOfRule(await rules.create(request.body, operatorOf(request))),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    legacyPath: true,
    summary: 'Change a rule; omitted fields do not change',
    access: { permission: permissionCodes.ruleUpdate, scope: 'caller' },
    request: {
      params: idParams,
      body: Type.Object({ code: Type.Optional(ruleCode), ...ruleMembers, version: optionalVersion }),
    },
    response: ruleView,
    reasons: ruleReasons,
    async handler(request, { rules }) {
      const { version, ...change } = request.body
      return viewOfRule(await rules.update(request.params.id, change, version, operatorOf(request)))
    },
  }),
  switchRoute('enable', 'Enable a rule', true),
  switchRoute('disable', 'Disable a rule', false),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    legacyPath: true,
    summary: 'Delete a rule',
    access: { permission: permissionCodes.ruleDelete, scope: 'caller' },
    request: { params: idParams, query: versionQuery },
    response: nothing,
    reasons: ['notification-rules.ids-invalid', 'notification-rules.unknown', 'notification-rules.version-conflict'],
    async handler(request, { rules }) {
      await rules.delete(request.params.id, request.query.version, operatorOf(request))
      return null
    },
  }),
  route({
    method: 'DELETE',
    path,
    legacyPath: true,
    summary: 'Delete several rules; unknown ids are ignored',
    access: { permission: permissionCodes.ruleDelete, scope: 'caller' },
    annotations: [bulkRateLimit],
    request: { query: batchQuery, body: batchBody },
    response: affectedCount,
    reasons: ['notification-rules.ids-invalid'],
    handler: async (request, { rules }) => {
      const ids = idsOf(request.query.ids, request.body?.ids)
      return { affected: await rules.deleteAll(ids, operatorOf(request)) }
    },
  }),
]

function switchRoute(action: 'enable' | 'disable', summary: string, enabled: boolean) {
  return route({
    method: 'POST',
    path: `${path}/:id/${action}`,
    legacyPath: true,
    summary,
    access: { permission: permissionCodes.ruleUpdate, scope: 'caller' },
    request: { params: idParams, body: Type.Optional(versionQuery) },
    response: ruleView,
    reasons: ruleReasons,
    handler: async (request, { rules }) =>
      viewOfRule(await rules.setEnabled(request.params.id, enabled, request.body?.version, operatorOf(request))),
  })
}

/** Returns the ids from query and body. An empty list is rejected, because a caller could take it for "all". */
function idsOf(written: string | undefined, listed: readonly number[] = []): readonly number[] {
  const ids = [...new Set([...listed, ...(written?.split(',').map(Number) ?? [])])]
  if (ids.length === 0 || ids.length > largestBatch || !ids.every(Number.isSafeInteger)) {
    throw businessError('ids-invalid', { params: { most: largestBatch }, data: { field: 'ids' } })
  }
  return ids
}
