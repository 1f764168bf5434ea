import {
  auditedChanges,
  bulkRateLimit,
  filterQuery,
  type HttpReply,
  idParams,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  rangeQuery,
  routesWith,
  Type,
} from '@plinth/http'
import { sessionOnly } from '@plinth/iam'
import type { Static } from 'typebox'
import * as view from '../contract.ts'
import { permissionCodes } from '../declarations.ts'
import { callerOf } from '../entry/caller.ts'
import type { StepOverview } from '../execution/step-overview.ts'
import type { InstallAuditTrail } from '../records/audit-trail.ts'
import { auditedInstallation } from '../records/audit-words.ts'
import { sessionStatuses } from '../records/entities.ts'
import { clampRecordLimit, type StepRecordLog } from '../records/journal.ts'
import { type Sessions, sessionOrder } from '../records/sessions.ts'
import type { InstallServices } from '../requires.ts'
import { businessError, type Translate } from '../texts.ts'
import type { InstallStatus } from '../wizard/install-status.ts'
import { sessionUnknown } from '../wizard/wizard-routes.ts'
import type { AdminService } from './admin-service.ts'
import {
  auditDetailView,
  auditView,
  diagnosticsView,
  outcome,
  resetBody,
  resetView,
  sessionDetail,
  sessionView,
  stateBody,
  viewOfAudit,
  viewOfSession,
} from './admin-views.ts'

type AdminRouteDependencies = Pick<InstallServices, 'redact' | 'site' | 'clock'> & {
  readonly admin: AdminService
  readonly status: InstallStatus
  readonly stepOverview: StepOverview
  readonly sessions: Sessions
  readonly journal: StepRecordLog
  readonly audit: InstallAuditTrail
  readonly translate: Translate
}

const root = '/api/v1/admin/install'
const read = {
  method: 'GET',
  tags: ['install'],
  access: { permission: permissionCodes.view, scope: 'none' },
  reasons: [],
} as const
/** Scope `all`, because records contain the names and addresses of operators. */
const readRecords = { ...read, access: { permission: permissionCodes.view, scope: 'all' } } as const
const act = {
  method: 'POST',
  tags: ['install'],
  access: { permission: permissionCodes.manage, scope: 'all' },
} as const
const storeReasons = ['system-config.storage-unavailable']

const keyword = Type.Optional(Type.String({ maxLength: 128 }))

function sendFile(reply: HttpReply, { redact, site, clock }: AdminRouteDependencies, name: string, content: object) {
  return reply
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${name}-${site.dayOf(new Date(clock.now()))}.json"`)
    .type('application/json; charset=utf-8')
    .send(redact(JSON.stringify(content, undefined, 2)))
}

async function diagnosticsOf(request: Parameters<typeof callerOf>[0], { admin, translate }: AdminRouteDependencies) {
  const { sessions, ...rest } = await admin.diagnostics(callerOf(request))
  return { ...rest, sessions: sessions.map((row) => viewOfSession(row, request.locale, translate)) }
}

async function sessionOf(
  id: string,
  limit: number | undefined,
  locale: string,
  { sessions, journal, translate }: AdminRouteDependencies,
) {
  const session = await sessions.find(id)
  if (session === undefined) throw sessionUnknown()
  const records = [...(await journal.newest(clampRecordLimit(limit), locale, id))]
  return { session: viewOfSession(session, locale, translate), records }
}

/** Uses the reason in the body, or else the reason in the header `X-Reason`. */
const stateRequestOf = ({ body, reason }: { body: Static<typeof stateBody>; reason?: string }) => ({
  ...body,
  reason: body.reason ?? reason,
})

const started = rangeQuery('startedAt')
const occurred = rangeQuery('occurredAt', 'id')

const sessionFilter = filterQuery(sessionView, ['status', 'failedStep', 'clientIp'])
const auditFilter = filterQuery(auditView, ['action', 'status', 'operator', 'sessionId', 'traceId'])

const { route, rawRoute } = routesWith<AdminRouteDependencies>()

const overviewRoutes = [
  route({
    ...readRecords,
    path: `${root}/diagnostics`,
    summary: 'Get status, steps, environment, sessions and records in one response',
    response: diagnosticsView,
    handler: (request, parts) => diagnosticsOf(request, parts),
  }),
  rawRoute({
    ...readRecords,
    path: `${root}/diagnostics/export`,
    annotations: [bulkRateLimit],
    summary: 'Export the diagnostics as a JSON file',
    produces: ['application/json'],
    handler: async (request, parts, reply) =>
      sendFile(reply, parts, 'install-diagnostics', await diagnosticsOf(request, parts)),
  }),
  route({
    ...read,
    path: `${root}/status`,
    summary: 'Get the status of the installation',
    response: view.statusView,
    handler: ({ contextPath }, { status }) => status.snapshot(contextPath),
  }),
  route({
    ...read,
    path: `${root}/steps`,
    summary: 'Get the step plan',
    response: view.stepsView,
    handler: async ({ locale }, { stepOverview }) => ({ steps: await stepOverview.list(locale) }),
  }),
]

const recordRoutes = [
  route({
    ...readRecords,
    path: `${root}/sessions`,
    summary: 'List installation runs, newest first',
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...sessionFilter.properties,
        ...started.properties,
        status: Type.Optional(Type.Enum([...sessionStatuses])),
        keyword,
      }),
    },
    response: listPage(sessionView),
    handler: ({ query, locale }, { sessions, translate }) =>
      listResponse(
        query,
        sessionOrder,
        async (window) =>
          mapListRows(await sessions.list(query, window), (row) => viewOfSession(row, locale, translate)),
        started,
        sessionFilter,
      ),
  }),
  route({
    ...readRecords,
    path: `${root}/sessions/:sessionId`,
    summary: 'Get an installation run with its records',
    request: { params: view.sessionParams, query: view.limitQuery },
    response: sessionDetail,
    reasons: ['install.session-unknown'],
    handler: ({ params, query, locale }, parts) => sessionOf(params.sessionId, query.limit, locale, parts),
  }),
  rawRoute({
    ...readRecords,
    path: `${root}/sessions/:sessionId/export`,
    annotations: [bulkRateLimit],
    summary: 'Export an installation run with its records as a JSON file',
    produces: ['application/json'],
    request: { params: view.sessionParams, query: view.limitQuery },
    reasons: ['install.session-unknown'],
    handler: async ({ params: { sessionId }, query, locale }, parts, reply) =>
      sendFile(reply, parts, `install-session-${sessionId}`, await sessionOf(sessionId, query.limit, locale, parts)),
  }),
  route({
    ...readRecords,
    path: `${root}/execution-logs`,
    summary: 'List the newest records, oldest first',
    request: { query: view.limitQuery },
    response: Type.Object({ records: Type.Array(view.recordView) }),
    handler: async ({ query, locale }, { journal }) => ({
      records: [...(await journal.newest(clampRecordLimit(query.limit), locale))],
    }),
  }),
  route({
    ...readRecords,
    path: `${root}/audit-logs`,
    summary: 'List audit log entries of the installation, newest first',
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...auditFilter.properties,
        ...occurred.properties,
        action: Type.Optional(Type.String({ maxLength: 64 })),
        status: Type.Optional(outcome),
        keyword,
      }),
    },
    response: listPage(auditView),
    handler: ({ query, locale }, { audit, translate }) =>
      listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await audit.list(query, window), (row) => viewOfAudit(row, locale, translate)),
        occurred,
        auditFilter,
      ),
  }),
  route({
    ...readRecords,
    path: `${root}/audit-logs/:id`,
    summary: 'Get an audit log entry of the installation with its facts in words',
    request: { params: idParams },
    response: auditDetailView,
    reasons: ['install.audit-unknown'],
    handler: async ({ params, locale }, { audit, translate }) => {
      const row = await audit.find(params.id)
      if (row === undefined) throw businessError('audit-unknown', { text: 'failure.audit-unknown' })
      const found = viewOfAudit(row, locale, translate)
      return { ...found, changes: auditedChanges(found.summary, auditedInstallation, locale) }
    },
  }),
]

const changeRoutes = [
  route({
    ...act,
    path: `${root}/state/reset`,
    summary: 'Unlock the installer again',
    // The installer can create an administrator.
    annotations: [sessionOnly],
    fresh: '5m',
    request: { body: resetBody },
    response: resetView,
    reasons: storeReasons,
    handler: (request, { admin }) =>
      admin.reset({ ...stateRequestOf(request), dryRun: request.body.dryRun }, callerOf(request)),
  }),
  route({
    ...act,
    path: `${root}/state/mark-installed`,
    summary: 'Lock the installer of an installed product',
    request: { body: stateBody },
    response: Type.Object({ marked: Type.Boolean(), alreadyInstalled: Type.Boolean(), message: Type.String() }),
    reasons: storeReasons,
    handler: (request, { admin }) => admin.mark(stateRequestOf(request), callerOf(request)),
  }),
  route({
    ...act,
    path: `${root}/migrate`,
    summary: 'Migrate the database of the product',
    response: view.migrateView,
    reasons: [],
    handler: (request, { admin }) => admin.migrate(callerOf(request)),
  }),
]

/** Routes to manage the installation. They require a signed-in operator, but no install token. */
export const adminRoutes = [...overviewRoutes, ...recordRoutes, ...changeRoutes]
