import {
  auditedChange,
  auditedChanges,
  bulkRateLimit,
  count,
  type HttpReply,
  idParams,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  nullable,
  rangeQuery,
  routesWith,
  spoken,
  Type,
} from '@plinth/http'
import { type LocalizedText, localize, ownProperty } from '@plinth/kernel'
import type { Static } from 'typebox'
import * as view from '../contract.ts'
import { permissionCodes } from '../declarations.ts'
import { callerOf } from '../entry/caller.ts'
import type { StepOverview } from '../execution/step-overview.ts'
import type { InstallAuditTrail } from '../records/audit-trail.ts'
import { auditedInstallation } from '../records/audit-words.ts'
import { type AuditRow, type SessionRow, sessionStatuses } from '../records/entities.ts'
import { clampRecordLimit, type StepRecordLog } from '../records/journal.ts'
import { type Sessions, sessionOrder } from '../records/sessions.ts'
import type { InstallServices } from '../requires.ts'
import { businessError } from '../texts.ts'
import type { InstallStatus } from '../wizard/install-status.ts'
import { sessionUnknown } from '../wizard/wizard-routes.ts'
import type { AdminService } from './admin-service.ts'

type AdminRouteDependencies = Pick<InstallServices, 'redact' | 'site' | 'clock'> & {
  readonly admin: AdminService
  readonly status: InstallStatus
  readonly stepOverview: StepOverview
  readonly sessions: Sessions
  readonly journal: StepRecordLog
  readonly audit: InstallAuditTrail
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
  access: { permission: permissionCodes.manage, scope: 'none' },
} as const
const storeReasons = ['system-config.storage-unavailable']
const outcome = Type.Enum(['passed', 'warning', 'failed'])

const sessionView = Type.Object({
  id: Type.String(),
  status: Type.Enum([...sessionStatuses]),
  startedAt: Type.String({ format: 'date-time' }),
  endedAt: Type.String({ description: 'End of the run in ISO 8601. Empty while it runs.' }),
  durationMs: nullable(count, { description: 'Null while it runs.' }),
  retriedSessionId: Type.String({ description: 'Id of the run that this run repeats. Empty if it repeats none.' }),
  failedStep: Type.String(),
  message: Type.String(),
  clientIp: Type.String(),
})
const sessionDetail = Type.Object({ session: sessionView, records: Type.Array(view.recordView) })
const auditView = Type.Object({
  id: Type.Integer(),
  action: Type.String(),
  actionName: Type.String({ description: 'Name of the operation in the language of the request.' }),
  status: outcome,
  sessionId: Type.String(),
  operator: Type.String(),
  sourceIp: Type.String(),
  userAgent: Type.String(),
  traceId: Type.String(),
  summary: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  occurredAt: Type.String({ format: 'date-time' }),
})
const auditDetailView = Type.Object({
  ...auditView.properties,
  changes: Type.Array(auditedChange, { description: 'Facts of the summary with their titles.' }),
})
const diagnosticsView = Type.Object({
  product: Type.Object({ name: Type.String(), version: Type.String(), node: Type.String() }),
  status: view.statusView,
  steps: Type.Array(view.stepView),
  preflight: Type.Object({ passed: Type.Boolean(), checks: Type.Array(view.checkView) }),
  sessions: Type.Array(sessionView),
  executionLogs: Type.Array(view.recordView),
})
/**
 * The confirmation phrase is optional in the schema. A missing phrase is handled like a wrong phrase: the response
 * reports that nothing changed.
 */
const stateBody = Type.Object({
  confirmation: Type.Optional(Type.String({ maxLength: 256 })),
  reason: Type.Optional(Type.String({ maxLength: 10_000, description: 'The first 200 characters are kept.' })),
})
const resetBody = Type.Object({
  ...stateBody.properties,
  dryRun: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'True: return the effects without making changes. The confirmation phrase is then not required.',
    }),
  ),
})
const resetView = Type.Object({
  reset: Type.Boolean(),
  alreadyUninstalled: Type.Boolean(),
  message: Type.String(),
  entry: Type.Optional(
    Type.Object(
      {
        installAllowed: Type.Boolean({ description: 'False if the configuration locks the installer for everyone.' }),
        tokenRequired: Type.Boolean(),
        networks: Type.Array(Type.String(), {
          description: 'Networks from which the installer can be used. If empty, it can be used from everywhere.',
        }),
        productClosed: Type.Boolean({
          description: 'True if only the installer responds until the installation is complete.',
        }),
      },
      { description: 'State of the installer after the reset. Absent if the reset is rejected.' },
    ),
  ),
})
const keyword = Type.Optional(Type.String({ maxLength: 128 }))

function sendFile(reply: HttpReply, { redact, site, clock }: AdminRouteDependencies, name: string, content: object) {
  return reply
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${name}-${site.dayOf(new Date(clock.now()))}.json"`)
    .type('application/json; charset=utf-8')
    .send(redact(JSON.stringify(content, undefined, 2)))
}

async function diagnosticsOf(request: Parameters<typeof callerOf>[0], { admin }: AdminRouteDependencies) {
  const { sessions, ...rest } = await admin.diagnostics(callerOf(request))
  return { ...rest, sessions: sessions.map(viewOfSession) }
}

async function sessionOf(id: string, limit: number | undefined, { sessions, journal }: AdminRouteDependencies) {
  const session = await sessions.find(id)
  if (session === undefined) throw sessionUnknown()
  return { session: viewOfSession(session), records: [...(await journal.newest(clampRecordLimit(limit), id))] }
}

/** Uses the reason in the body, or else the reason in the header `X-Reason`. */
const stateRequestOf = ({ body, reason }: { body: Static<typeof stateBody>; reason?: string }) => ({
  ...body,
  reason: body.reason ?? reason,
})

const started = rangeQuery('startedAt')
const occurred = rangeQuery('occurredAt', 'id')

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
        ...started.properties,
        status: Type.Optional(Type.Enum([...sessionStatuses])),
        keyword,
      }),
    },
    response: listPage(sessionView),
    handler: ({ query }, { sessions }) =>
      listResponse(
        query,
        sessionOrder,
        async (window) => mapListRows(await sessions.list(query, window), viewOfSession),
        started,
      ),
  }),
  route({
    ...readRecords,
    path: `${root}/sessions/:sessionId`,
    summary: 'Get an installation run with its records',
    request: { params: view.sessionParams, query: view.limitQuery },
    response: sessionDetail,
    reasons: ['install.session-unknown'],
    handler: ({ params, query }, parts) => sessionOf(params.sessionId, query.limit, parts),
  }),
  rawRoute({
    ...readRecords,
    path: `${root}/sessions/:sessionId/export`,
    annotations: [bulkRateLimit],
    summary: 'Export an installation run with its records as a JSON file',
    produces: ['application/json'],
    request: { params: view.sessionParams, query: view.limitQuery },
    reasons: ['install.session-unknown'],
    handler: async ({ params: { sessionId }, query }, parts, reply) =>
      sendFile(reply, parts, `install-session-${sessionId}`, await sessionOf(sessionId, query.limit, parts)),
  }),
  route({
    ...readRecords,
    path: `${root}/execution-logs`,
    summary: 'List the newest records, oldest first',
    request: { query: view.limitQuery },
    response: Type.Object({ records: Type.Array(view.recordView) }),
    handler: async ({ query }, { journal }) => ({
      records: [...(await journal.newest(clampRecordLimit(query.limit)))],
    }),
  }),
  route({
    ...readRecords,
    path: `${root}/audit-logs`,
    summary: 'List audit log entries of the installation, newest first',
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...occurred.properties,
        action: Type.Optional(Type.String({ maxLength: 64 })),
        status: Type.Optional(outcome),
        keyword,
      }),
    },
    response: listPage(auditView),
    handler: ({ query, locale }, { audit }) =>
      listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await audit.list(query, window), (row) => viewOfAudit(row, locale)),
        occurred,
      ),
  }),
  route({
    ...readRecords,
    path: `${root}/audit-logs/:id`,
    summary: 'Get an audit log entry of the installation with its facts in words',
    request: { params: idParams },
    response: auditDetailView,
    reasons: ['install.audit-unknown'],
    handler: async ({ params, locale }, { audit }) => {
      const row = await audit.find(params.id)
      if (row === undefined) throw businessError('audit-unknown', { text: 'failure.audit-unknown' })
      return { ...viewOfAudit(row, locale), changes: auditedChanges(row.summary, auditedInstallation, locale) }
    },
  }),
]

const changeRoutes = [
  route({
    ...act,
    path: `${root}/state/reset`,
    summary: 'Unlock the installer again',
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

function viewOfSession({ startedAt, endedAt, ...row }: SessionRow) {
  const durationMs = endedAt == null ? null : Math.max(0, endedAt.getTime() - startedAt.getTime())
  return { ...row, startedAt: startedAt.toISOString(), endedAt: endedAt?.toISOString() ?? '', durationMs }
}

const actionNames: Readonly<Record<string, LocalizedText>> = auditedInstallation.actions

function viewOfAudit({ clientIp, occurredAt, ...row }: AuditRow, locale: string) {
  const name = ownProperty(actionNames, row.action)
  const actionName = name === undefined ? spoken(row.action) : localize(name, locale)
  return { ...row, actionName, sourceIp: clientIp, occurredAt: occurredAt.toISOString() }
}
