import type { EntityName } from '@mikro-orm/core'
import { type Database, findPage } from '@plinth/database'
import {
  type FilterQuery,
  filterQuery,
  type HttpRequest,
  id,
  idParams,
  isNonBlankLine,
  type ListQuery,
  line,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  maxReasonLength,
  newestFirst,
  type RouteInfo,
  type RouteWrapper,
  rangeQuery,
  routesWith,
  Type,
  traceId,
} from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import { auditTexts, type Kernel } from '@plinth/kernel'
import { requirePrincipal } from '../access/access-guard.ts'
import { rowsInScope } from '../access/data-scope.ts'
import {
  auditDetailView,
  auditView,
  detailOfAudit,
  loginAuditView,
  viewOfAudit,
  viewOfLoginAudit,
} from '../accounts/views.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import { Audit, LoginAuditRow } from '../entities.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Reason that the administrator stated in the header `X-Reason`. Only set for writes under `/admin`. */
    reason?: string
  }
}

const takesReason = ({ method, path }: RouteInfo) => method !== 'GET' && /^\/api\/v\d+\/admin\//.test(path)
const header = {
  'X-Reason': {
    description: `Reason for the change, stored in the audit. Percent-encoded UTF-8, at most ${maxReasonLength} characters, not blank.`,
    schema: Type.String({ maxLength: maxReasonLength * 12 }),
  },
}

/** Reads the stated reason of an administrative action before the handler runs (decision E16). */
export const reasonWrapper: RouteWrapper = {
  name: 'iam.reason',
  reasons: ['iam.reason-invalid'],
  forRoute: (route) =>
    takesReason(route)
      ? (request, _reply, handle) => {
          const reason = reasonOf(request)
          if (reason !== undefined) request.reason = reason
          return handle()
        }
      : undefined,
  headers: (route) => (takesReason(route) ? { request: header, response: {} } : undefined),
}

/** @throws BusinessError "400" `iam.reason-invalid` */
function reasonOf({ headers }: Pick<HttpRequest, 'headers'>): string | undefined {
  const encoded = headers['x-reason']
  if (typeof encoded !== 'string' || encoded === '') return undefined
  const text = decoded(encoded)
  if (text === undefined || !isNonBlankLine(text) || [...text].length > maxReasonLength) {
    throw businessError('reason-invalid', { params: { limit: maxReasonLength }, data: { limit: maxReasonLength } })
  }
  return text
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const access = { permission: permissionCodes.auditView, scope: 'caller' } as const

interface AuditRouteDependencies {
  readonly db: Database
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly i18n: Translator | undefined
}

const range = rangeQuery('occurredAt', 'id')
const loginFilter = filterQuery(loginAuditView, [
  'userId',
  'success',
  'clientIp',
  'identifier',
  'method',
  'reason',
  'attempts',
])
const auditFilter = filterQuery(auditView, [
  'actor',
  'action',
  'targetType',
  'targetName',
  'reason',
  'clientIp',
  'traceId',
])

const { route } = routesWith<AuditRouteDependencies>()

const newest = <T extends { id: number }, V>(
  db: Database,
  entity: EntityName<T>,
  where: object,
  query: ListQuery,
  view: (row: T) => V,
  filter: FilterQuery,
) =>
  listResponse(
    query,
    newestFirst,
    async (window) => mapListRows(await findPage(db.fork(), entity, where, window), view),
    range,
    filter,
  )

/**
 * Routes to list actions and login attempts, newest first, of users in the data scope of the caller. Records without a
 * known user (commands, unknown names) are only listed for scope `all`.
 */
export const auditRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/iam/login-audits',
    summary: 'List logins and rejected attempts, newest first',
    access,
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...loginFilter.properties,
        ...range.properties,
        userId: Type.Optional(id),
        success: Type.Optional(Type.Boolean()),
        clientIp: Type.Optional(line(64)),
      }),
    },
    response: listPage(loginAuditView),
    reasons: [],
    handler: (request, { db, i18n }) => {
      const { query, locale } = request
      const { userId, success, clientIp } = query
      const translate = (reason: string) => i18n?.translate(locale, `messages.${reason}`)
      return newest<LoginAuditRow, ReturnType<typeof viewOfLoginAudit>>(
        db,
        LoginAuditRow,
        { $and: [withoutUndefined({ userId, success, clientIp }), rowsInScope(requirePrincipal(request), 'user_id')] },
        query,
        (row) => viewOfLoginAudit(row, translate),
        loginFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/iam/audits',
    summary: 'List administrative actions, newest first',
    access,
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...range.properties,
        ...auditFilter.properties,
        actor: Type.Optional(line(64, { description: 'For example `user:1` or `cli`.' })),
        action: Type.Optional(line(64)),
        targetType: Type.Optional(line(32)),
        targetId: Type.Optional(id),
        targetName: Type.Optional(line(200)),
        target: Type.Optional(line(200, { description: 'Id or name of the target.' })),
        traceId: Type.Optional(traceId),
      }),
    },
    response: listPage(auditView),
    reasons: [],
    handler: (request, { db, kernel }) => {
      const { query } = request
      const { actor, action, targetType, targetId, targetName, target, traceId } = query
      const where = {
        $and: [
          withoutUndefined({ actor, action, targetType, targetId, targetName, traceId }),
          ...(target === undefined ? [] : [{ $or: targetConditions(target) }]),
          rowsInScope(requirePrincipal(request), 'actor_user_id'),
        ],
      }
      const view = viewOfAudit(kernel.contributions(auditTexts), request.locale)
      return newest<Audit, ReturnType<typeof view>>(db, Audit, where, query, view, auditFilter)
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/iam/audits/:id',
    summary: 'Get an administrative action with its changes in words',
    access,
    request: { params: idParams },
    response: auditDetailView,
    reasons: ['iam.audit-unknown'],
    handler: async (request, { db, kernel }) => {
      const own = rowsInScope(requirePrincipal(request), 'actor_user_id')
      const row = await db.fork().findOne(Audit, { $and: [{ id: request.params.id }, own] })
      if (row === null) throw businessError('audit-unknown')
      return detailOfAudit(row, kernel.contributions(auditTexts), request.locale)
    },
  }),
]

/** A name can consist of digits too, for example an order number. */
function targetConditions(target: string): readonly object[] {
  const id = Number(target)
  return [{ targetName: target }, ...(Number.isSafeInteger(id) && id > 0 ? [{ targetId: id }] : [])]
}

const withoutUndefined = (where: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(where).filter(([, value]) => value !== undefined))
