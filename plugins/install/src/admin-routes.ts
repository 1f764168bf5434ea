import { answerList, type HttpServer, listPage, listQuery, newestFirst } from '@plinth/http'
import { bulkLimited } from '@plinth/rate-limit'
import { Type } from 'typebox'
import type { AdminService } from './admin-service.ts'
import { callerOf } from './caller.ts'
import * as view from './contract.ts'
import { type AuditRow, type SessionRow, sessionStatuses } from './entities.ts'
import { sessionUnknown } from './entry-routes.ts'
import type { HttpReply } from './http-types.ts'
import { own } from './permissions.ts'
import { sessionOrder } from './sessions.ts'

export interface AdminRouteParts {
  readonly http: HttpServer
  readonly plugin: string
  readonly service: AdminService
  /** Masks secrets by value. */
  readonly redact: (text: string) => string
  /** The day where the site is at home, `YYYY-MM-DD`. */
  readonly today: () => string
}

const root = '/api/v1/admin/install'
const tags = ['install']
const mayView = { permission: own.view }
const mayManage = { permission: own.manage }
const outcome = Type.Enum(['passed', 'warning', 'failed'])

const sessionView = Type.Object({
  id: Type.String(),
  status: Type.Enum([...sessionStatuses]),
  startedAt: Type.String({ format: 'date-time' }),
  endedAt: Type.String({ description: 'ISO 8601; empty while it runs.' }),
  retriedSessionId: Type.String({ description: 'Session that it repeats; empty for none.' }),
  failedStep: Type.String(),
  message: Type.String(),
  clientIp: Type.String(),
})
const sessionDetail = Type.Object({ session: sessionView, records: Type.Array(view.recordView) })
const auditView = Type.Object({
  id: Type.Integer(),
  action: Type.String(),
  status: outcome,
  sessionId: Type.String(),
  operator: Type.String(),
  sourceIp: Type.String(),
  userAgent: Type.String(),
  traceId: Type.String(),
  summary: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
  occurredAt: Type.String({ format: 'date-time' }),
})
const diagnosticsView = Type.Object({
  product: Type.Object({ name: Type.String(), version: Type.String(), node: Type.String() }),
  status: view.statusView,
  steps: Type.Array(view.stepView),
  preflight: Type.Object({ passed: Type.Boolean(), checks: Type.Array(view.checkView) }),
  sessions: Type.Array(sessionView),
  executionLogs: Type.Array(view.recordView),
})
/** A phrase that is missing is a wrong phrase, not bad input: the answer tells that nothing was changed. */
const stateBody = Type.Object({
  confirmation: Type.Optional(Type.String({ maxLength: 256 })),
  reason: Type.Optional(Type.String({ maxLength: 10_000, description: 'The first 200 characters are kept.' })),
})
const keyword = Type.Optional(Type.String({ maxLength: 128 }))

/** The administration of the installation. It needs a login, no install token. */
export function addAdminRoutes({ http, plugin, service, redact, today }: AdminRouteParts): void {
  const read = { method: 'GET', tags, access: mayView } as const
  const act = { method: 'POST', tags, access: mayManage } as const
  /** A JSON file with secrets masked by value, whatever it holds. */
  const sendFile = (reply: HttpReply, name: string, content: object) => {
    return reply
      .header('cache-control', 'no-store')
      .header('content-disposition', `attachment; filename="${name}-${today()}.json"`)
      .type('application/json; charset=utf-8')
      .send(redact(JSON.stringify(content, undefined, 2)))
  }
  const diagnosticsOf = async (request: Parameters<typeof callerOf>[0]) => {
    const { sessions, ...rest } = await service.diagnostics(callerOf(request))
    return { ...rest, sessions: sessions.map(viewOfSession) }
  }
  const detailOf = async (id: string, limit: number | undefined) => {
    const found = await service.session(id, limit)
    if (found === undefined) throw sessionUnknown()
    return { session: viewOfSession(found.session), records: found.records }
  }

  http.route(plugin, {
    ...read,
    path: `${root}/diagnostics`,
    summary: 'Status, steps, environment, sessions and records in one',
    response: diagnosticsView,
    handler: (request) => diagnosticsOf(request),
  })
  http.rawRoute(plugin, {
    ...read,
    path: `${root}/diagnostics/export`,
    annotations: [bulkLimited],
    summary: 'The diagnostics as a JSON file',
    produces: ['application/json'],
    handler: async (request, reply) => sendFile(reply, 'install-diagnostics', await diagnosticsOf(request)),
  })
  http.route(plugin, {
    ...read,
    path: `${root}/status`,
    summary: 'Status of the installation',
    response: view.statusView,
    handler: (request) => service.status(callerOf(request)),
  })
  http.route(plugin, {
    ...read,
    path: `${root}/steps`,
    summary: 'The step plan',
    response: view.stepsView,
    handler: async (request) => ({ steps: await service.steps(callerOf(request)) }),
  })
  http.route(plugin, {
    ...read,
    path: `${root}/sessions`,
    summary: 'Runs of the installation, the newest first',
    request: {
      query: Type.Object({
        ...listQuery.properties,
        status: Type.Optional(Type.Enum([...sessionStatuses])),
        keyword,
      }),
    },
    response: listPage(sessionView),
    handler: ({ query }) =>
      answerList(query, sessionOrder, async (window) => {
        const found = await service.sessions(query, window)
        return { ...found, items: found.items.map(viewOfSession) }
      }),
  })
  http.route(plugin, {
    ...read,
    path: `${root}/sessions/:sessionId`,
    summary: 'One run with its records',
    request: { params: view.sessionParams, query: view.limitQuery },
    response: sessionDetail,
    handler: ({ params, query }) => detailOf(params.sessionId, query.limit),
  })
  http.rawRoute(plugin, {
    ...read,
    path: `${root}/sessions/:sessionId/export`,
    annotations: [bulkLimited],
    summary: 'One run with its records as a JSON file',
    produces: ['application/json'],
    request: { params: view.sessionParams, query: view.limitQuery },
    async handler(request, reply) {
      const { sessionId } = request.params as { readonly sessionId: string }
      const { limit } = request.query as { readonly limit?: number }
      return sendFile(reply, `install-session-${sessionId}`, await detailOf(sessionId, limit))
    },
  })
  http.route(plugin, {
    ...read,
    path: `${root}/execution-logs`,
    summary: 'Newest records, the oldest of them first',
    request: { query: view.limitQuery },
    response: Type.Object({ records: Type.Array(view.recordView) }),
    handler: async ({ query }) => ({ records: await service.records(query.limit) }),
  })
  http.route(plugin, {
    ...read,
    path: `${root}/audit-logs`,
    summary: 'Who did what to the installation, the newest first',
    request: {
      query: Type.Object({
        ...listQuery.properties,
        action: Type.Optional(Type.String({ maxLength: 64 })),
        status: Type.Optional(outcome),
        keyword,
      }),
    },
    response: listPage(auditView),
    handler: ({ query }) =>
      answerList(query, newestFirst, async (window) => {
        const found = await service.auditLogs(query, window)
        return { ...found, items: found.items.map(viewOfAudit) }
      }),
  })

  http.route(plugin, {
    ...act,
    path: `${root}/state/reset`,
    summary: 'Open the installation again',
    request: { body: stateBody },
    response: Type.Object({ reset: Type.Boolean(), alreadyUninstalled: Type.Boolean(), message: Type.String() }),
    handler: (request) => service.reset(request.body, callerOf(request)),
  })
  http.route(plugin, {
    ...act,
    path: `${root}/state/mark-installed`,
    summary: 'Close the installation of a product that is installed',
    request: { body: stateBody },
    response: Type.Object({ marked: Type.Boolean(), alreadyInstalled: Type.Boolean(), message: Type.String() }),
    handler: (request) => service.mark(request.body, callerOf(request)),
  })
  http.route(plugin, {
    ...act,
    path: `${root}/migrate`,
    summary: 'Migrate the database that the product runs on',
    response: view.migrateView,
    handler: (request) => service.migrate(callerOf(request)),
  })
}

const viewOfSession = ({ startedAt, endedAt, ...row }: SessionRow) => ({
  ...row,
  startedAt: startedAt.toISOString(),
  endedAt: endedAt?.toISOString() ?? '',
})

const viewOfAudit = ({ clientIp, occurredAt, ...row }: AuditRow) => ({
  ...row,
  sourceIp: clientIp,
  occurredAt: occurredAt.toISOString(),
})
