import type { AsyncTasks } from '@plinth/async-task'
import type { Database } from '@plinth/database'
import {
  filterQuery,
  idParams,
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
} from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { permissionCodes } from '../declarations.ts'
import { type Reconciler, reconcileTask } from '../reconcile/reconciler.ts'
import { findingView, reconciliationView } from './views.ts'

interface ReconciliationRouteDependencies {
  readonly db: Database
  readonly reconciler: Reconciler
  readonly tasks: AsyncTasks
}

const path = '/api/v1/admin/money/reconciliations'

const range = rangeQuery('createdAt', 'id')

const runFilter = filterQuery(reconciliationView.schema, ['asset', 'state', 'findings', 'finishedAt'])
const findingFilter = filterQuery(findingView.schema, ['rule', 'accountId', 'journalId', 'expected', 'found'])

const { route } = routesWith<ReconciliationRouteDependencies>()

/** Asynchronous tasks run the reconciliations. */
export const reconciliationRoutes = [
  route({
    method: 'POST',
    path,
    summary: 'Start a reconciliation of the ledger; changes no entry',
    access: { permission: permissionCodes.reconcileRun, scope: 'all' },
    annotations: [idempotent],
    request: {
      body: Type.Object({
        asset: Type.Optional(
          nullable(line(64, { minLength: 1 }), { description: 'Asset to check. Absent or null: all assets.' }),
        ),
      }),
    },
    response: reconciliationView.schema,
    reasons: ['async-task.owner-limit', 'async-task.queue-full', 'money.asset-unknown'],
    async handler(request, { db, reconciler, tasks }) {
      const { userId: ownerId, username } = requirePrincipal(request)
      return db.transactional(async () => {
        const id = await reconciler.request(request.body.asset ?? null, username)
        const task = await tasks.submit(reconcileTask, { reconciliationId: id }, { ownerId })
        await reconciler.nameTask(id, task.id)
        return reconciliationView.of(await reconciler.find(id))
      })
    },
  }),
  route({
    method: 'GET',
    path,
    summary: 'List reconciliations, newest first',
    access: { permission: permissionCodes.ledgerView, scope: 'all' },
    request: { query: Type.Object({ ...listQuery.properties, ...runFilter.properties, ...range.properties }) },
    response: listPage(reconciliationView.schema),
    reasons: [],
    handler: ({ query }, { reconciler }) =>
      listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await reconciler.list(window), reconciliationView.of),
        range,
        runFilter,
      ),
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get a reconciliation',
    access: { permission: permissionCodes.ledgerView, scope: 'all' },
    request: { params: idParams },
    response: reconciliationView.schema,
    reasons: ['money.asset-unknown', 'money.reconciliation-unknown'],
    handler: async ({ params }, { reconciler }) => reconciliationView.of(await reconciler.find(params.id)),
  }),
  route({
    method: 'GET',
    path: `${path}/:id/findings`,
    summary: 'List the differences that a reconciliation found',
    access: { permission: permissionCodes.ledgerView, scope: 'all' },
    request: { params: idParams, query: Type.Object({ ...listQuery.properties, ...findingFilter.properties }) },
    response: listPage(findingView.schema),
    reasons: ['money.reconciliation-unknown'],
    handler: ({ params, query }, { reconciler }) =>
      listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await reconciler.findings(params.id, window), findingView.of),
        undefined,
        findingFilter,
      ),
  }),
]
