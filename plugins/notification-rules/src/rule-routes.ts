import { type AsyncTasks, taskStates } from '@plinth/async-task'
import type { Events } from '@plinth/events'
import { bulkRateLimit, bulkResult, id, rateLimited, routesWith, Type, text } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import { type Operator, operatorOf, ownerOfLaterWork, requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import type { NotificationPreferences } from '@plinth/inbox'
import { businessError, permissionCodes } from './declarations.ts'
import { opsSummary, silencedRuleCodes } from './ops-summary.ts'
import { ruleExport, ruleFilter } from './rule-export.ts'
import { path, type ruleOperations, ruleReasons } from './rule-operations.ts'
import { opsSummaryView, templateView, templateViews } from './rule-views.ts'
import type { Rules } from './rules.ts'

interface RuleRouteDependencies {
  readonly rules: Rules
  readonly store: (operator: Operator) => ReturnType<typeof ruleOperations.store>
  readonly tasks: AsyncTasks
  readonly i18n: Pick<Translator, 'translate'> | undefined
  readonly events: Pick<Events, 'publishedTypes'>
  /** Undefined in a product without preferences of users. */
  readonly preferences: Pick<NotificationPreferences, 'wanted'> | undefined
}

const largestBatch = 200
const view = { permission: permissionCodes.ruleView, scope: 'caller' } as const

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

/** Routes for operators that are not in `ruleOperations`. */
export const ruleRoutes = [
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
    method: 'DELETE',
    path,
    legacyPath: true,
    summary: 'Delete several rules; unknown ids are ignored',
    access: { permission: permissionCodes.ruleDelete, scope: 'caller' },
    annotations: [bulkRateLimit],
    request: { query: batchQuery, body: batchBody },
    response: bulkResult,
    reasons: ['notification-rules.ids-invalid'],
    async handler(request, { rules, store }) {
      const ids = idsOf(request.query.ids, request.body?.ids)
      const removed = await store(operatorOf(request)).removeEach(ids)
      rules.changed()
      return removed
    },
  }),
]

/** Returns the ids from query and body. An empty list is rejected, because a caller could take it for "all". */
function idsOf(written: string | undefined, listed: readonly number[] = []): readonly number[] {
  const ids = [...new Set([...listed, ...(written?.split(',').map(Number) ?? [])])]
  if (ids.length === 0 || ids.length > largestBatch || !ids.every(Number.isSafeInteger)) {
    throw businessError('ids-invalid', { params: { most: largestBatch }, data: { field: 'ids' } })
  }
  return ids
}
