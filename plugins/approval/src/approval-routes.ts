import { type Database, findPage } from '@plinth/database'
import {
  id,
  instant,
  line,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  nullable,
  rangeQuery,
  routesWith,
  Type,
  text,
} from '@plinth/http'
import { callerRows } from '@plinth/iam'
import { localize, ownProperty } from '@plinth/kernel'
import { type ApprovalRule, type ApprovalWorkflow, approvalResults } from './contract.ts'
import { permissionCodes } from './declarations.ts'
import { ApprovalRow } from './entities.ts'

const instanceView = Type.Object({
  id,
  workflow: text,
  action: text,
  actionName: text,
  sourceType: text,
  sourceId: text,
  sourceState: text,
  permissions: Type.Array(text),
  actorUserId: nullable(id),
  actorName: nullable(text),
  result: Type.Enum(approvalResults),
  reason: nullable(text),
  createdAt: instant,
})

const range = rangeQuery('createdAt', 'id')

const { route } = routesWith<{
  readonly db: Database
  readonly workflows: ReadonlyMap<string, ApprovalWorkflow>
}>()

export const approvalRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/approvals',
    summary: 'List executed and rejected workflow steps, newest first',
    description: 'Returns steps whose actor is in the data scope of the caller.',
    access: { permission: permissionCodes.instanceView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...range.properties,
        workflow: Type.Optional(line(64)),
        sourceType: Type.Optional(line(64)),
        sourceId: Type.Optional(line(64, { description: 'Used only together with the type of source.' })),
      }),
    },
    response: listPage(instanceView),
    reasons: [],
    handler(request, { db, workflows }) {
      const { query } = request
      const { workflow, sourceType, sourceId } = query
      const where = {
        ...(workflow === undefined ? {} : { workflow }),
        ...(sourceType === undefined ? {} : { sourceType, ...(sourceId === undefined ? {} : { sourceId }) }),
      }
      const rows = callerRows(request, 'actor_user_id')
      const view = viewOf(workflows, request.locale)
      return listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await findPage(db.fork(), ApprovalRow, { $and: [where, rows] }, window), view),
        range,
      )
    },
  }),
]

/** Returns the name of an action. A rejected request may contain the code of no action, which has no name. */
function nameOf(actions: Readonly<Record<string, ApprovalRule>>, code: string, locale: string): string {
  const action = ownProperty(actions, code)
  return action === undefined ? code : localize(action.displayName, locale)
}

const viewOf = (workflows: ReadonlyMap<string, ApprovalWorkflow>, locale: string) => (record: ApprovalRow) => ({
  id: record.id,
  workflow: record.workflow,
  action: record.action,
  actionName: nameOf(workflows.get(record.workflow)?.actions ?? {}, record.action, locale),
  sourceType: record.sourceType,
  sourceId: record.sourceId,
  sourceState: record.sourceState,
  permissions: [...record.permissionSnapshot],
  actorUserId: record.actorUserId ?? null,
  actorName: record.actorName ?? null,
  result: record.result,
  reason: record.reason ?? null,
  createdAt: record.createdAt.toISOString(),
})
