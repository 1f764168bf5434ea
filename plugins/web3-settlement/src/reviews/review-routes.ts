import {
  filterQuery,
  type HttpRequest,
  id,
  idParams,
  line,
  listPage,
  listQuery,
  listResponse,
  newestFirst,
  rangeQuery,
  rateLimited,
  routesWith,
  Type,
} from '@plinth/http'
import { requirePrincipal, sessionOnly } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { type AuditSummary, auditFieldsOfCaller, writeAuditEntry } from '@plinth/kernel'
import { assertOrdersReadable, callerLogs, readableOrders } from '../caller-orders.ts'
import { readChainNames } from '../chain-names.ts'
import { permissionCodes, permissionSnapshotOf } from '../declarations.ts'
import { reviewStatuses, settlementOutcomes } from '../entities.ts'
import type { SettlementResult } from '../execution/executor.ts'
import type { Parts } from '../parts.ts'
import { outTradeNo, payment } from './confirmation-routes.ts'
import type { Reviewer } from './review-logs.ts'
import {
  attemptView,
  batchView,
  overdueView,
  reviewDetailView,
  reviewView,
  settlementView,
  viewOfReview,
  viewOfSettlement,
} from './review-views.ts'

type ReviewRouteDependencies = Pick<
  Parts,
  'kernel' | 'payments' | 'chains' | 'tokens' | 'reviews' | 'attempts' | 'settlements' | 'overdue'
>

const root = '/api/v1/admin/web3'
const logs = `${root}/payment-settlement-review-logs`

/** Maximum number of reviews in a batch. For each of them, a chain is queried and a transaction is opened. */
const maxInBatch = 50
const batchLimit = rateLimited({ maxAttempts: 10, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })

const ids = Type.Array(id, { minItems: 1, maxItems: maxInBatch })
const fingerprint = Type.Optional(
  Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'Fingerprint of the data that the reviewer saw. If the data has changed, the review is rejected.',
  }),
)

const acceptCauses = Type.Boolean({
  default: false,
  description:
    'True: settle despite the causes that the review lists, such as `named-by-another-order`. New causes still prevent the settlement. If an order outside the data scope of the caller claims the transfer, the caller needs the scope `all`.',
})
const latestAttempts = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const

const range = rangeQuery('createdAt', 'id')

const reviewFilter = filterQuery(reviewView, ['outTradeNo', 'action', 'status', 'heldAt'])

const { route } = routesWith<ReviewRouteDependencies>()

export const reviewRoutes = [
  route({
    method: 'GET',
    path: logs,
    summary: 'List review logs, newest first',
    access: { permission: permissionCodes.reviewView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...reviewFilter.properties,
        ...range.properties,
        outTradeNo: Type.Optional(outTradeNo),
        status: Type.Optional(Type.Enum(reviewStatuses)),
        lastOutcome: Type.Optional(Type.Enum(settlementOutcomes)),
        retryable: Type.Boolean({
          default: false,
          description: 'True: only candidates for settlement whose fingerprint still matches the order.',
        }),
      }),
    },
    response: listPage(reviewView),
    reasons: [
      'web3-settlement.other-orders-out-of-scope',
      'web3-settlement.review-log-unknown',
      'web3-settlement.second-person-required',
    ],
    handler(request, parts) {
      const { query } = request
      const rows = callerLogs(request)
      const { outTradeNo, status, lastOutcome, retryable } = query
      const where = {
        ...(outTradeNo === undefined ? {} : { outTradeNo }),
        ...(status === undefined ? {} : { status }),
        ...(lastOutcome === undefined ? {} : { lastOutcome }),
      }
      return listResponse(
        query,
        newestFirst,
        async (window) => {
          const { reviews } = parts
          const found = retryable
            ? await reviews.retryable(where, rows, window)
            : await reviews.list(where, rows, window)
          const names = await readChainNames(
            request,
            parts,
            found.items.map(({ planSnapshot }) => planSnapshot),
          )
          return { ...found, items: found.items.map((log) => viewOfReview(log, names)) }
        },
        range,
        reviewFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${logs}/:id`,
    summary: 'Get a review log',
    access: { permission: permissionCodes.reviewView, scope: 'caller' },
    request: { params: idParams },
    response: reviewDetailView,
    reasons: [
      'web3-settlement.audit-log-unknown',
      'web3-settlement.other-orders-out-of-scope',
      'web3-settlement.review-log-unknown',
      'web3-settlement.second-person-required',
    ],
    async handler(request, parts) {
      const log = await parts.reviews.get(request.params.id, callerLogs(request))
      const { items } = await parts.attempts.list(log, latestAttempts)
      return {
        ...viewOfReview(log, await readChainNames(request, parts, [log.planSnapshot])),
        attempts: items.map(attemptView.of),
      }
    },
  }),
  route({
    method: 'GET',
    path: `${logs}/:id/attempts`,
    summary: 'List settlement attempts of a review and of its follow-up reviews, newest first',
    access: { permission: permissionCodes.reviewView, scope: 'caller' },
    request: { params: idParams, query: listQuery },
    response: listPage(attemptView.schema),
    reasons: ['web3-settlement.audit-log-unknown', 'web3-settlement.review-log-unknown'],
    async handler(request, { reviews, attempts }) {
      const log = await reviews.get(request.params.id, callerLogs(request))
      return listResponse(request.query, newestFirst, async (window) => {
        const found = await attempts.list(log, window)
        return { ...found, items: found.items.map(attemptView.of) }
      })
    },
  }),
  route({
    method: 'POST',
    path: logs,
    summary: 'Save a review of an order with the current data of its chain',
    access: { permission: permissionCodes.reviewCreate, scope: 'caller' },
    annotations: [idempotent, sessionOnly],
    request: {
      body: Type.Object({
        ...payment,
        action: Type.Enum(['settle', 'record']),
        remark: Type.Optional(line(500)),
        reviewFingerprint: fingerprint,
      }),
    },
    response: reviewView,
    reasons: [
      'approval.action-unknown',
      'approval.permission-missing',
      'approval.state-not-allowed',
      'approval.workflow-unknown',
      'payment.order-unknown',
      'web3-settlement.fingerprint-differs',
    ],
    async handler(request, parts) {
      await assertOrdersReadable(request, parts.payments, [request.body.outTradeNo])
      const log = await parts.reviews.save(request.body, reviewerOf(request), ({ id, outTradeNo, state }) =>
        recorded(request, parts, 'save', id, { outTradeNo, state }),
      )
      return viewOfReview(log, await readChainNames(request, parts, [log.planSnapshot]))
    },
  }),
  settleRoute('settle', 'Settle from a review if nothing has changed since the review'),
  settleRoute('retry', 'Settle from a review again; same as the first settlement'),
  route({
    method: 'POST',
    path: `${logs}/retry-batch`,
    summary: 'Settle from several reviews, in the order of their ids',
    description: 'Each review is processed independently: if one cannot be settled, the others still are.',
    access: { permission: permissionCodes.execute, scope: 'caller' },
    fresh: '5m',
    annotations: [batchLimit, sessionOnly],
    request: { body: Type.Object({ ids }) },
    response: batchView,
    reasons: [],
    async handler(request, parts) {
      const { requested, executed, skipped, items } = await parts.settlements.retryBatch(
        request.body.ids,
        reviewerOf(request),
        callerLogs(request),
      )
      await recorded(request, parts, 'retry-batch', undefined, { requested, executed, skipped })
      return { requested, executed, skipped, items: await viewsOfItems(request, parts, items) }
    },
  }),
  route({
    method: 'POST',
    path: `${logs}/auto-handle-expired`,
    summary: 'Process the overdue reviews, as the scheduled task does',
    access: { permission: permissionCodes.reviewCreate, scope: 'all' },
    fresh: '5m',
    annotations: [batchLimit],
    response: overdueView,
    reasons: ['web3-settlement.review-log-unknown'],
    async handler(request, parts) {
      const items = await parts.overdue.handle()
      const executed = items.filter(({ result }) => result?.outcome === 'settled').length
      await recorded(request, parts, 'auto-handle-expired', undefined, { handled: items.length, executed })
      return { handled: items.length, executed, items: await viewsOfItems(request, parts, items) }
    },
  }),
]

/** Returns the items of a batch with their results as the caller sees them. */
async function viewsOfItems<Item extends { readonly result: SettlementResult | null }>(
  request: Pick<HttpRequest, 'principal'>,
  parts: ReviewRouteDependencies,
  items: readonly Item[],
) {
  const plans = items.flatMap(({ result }) => result?.plan ?? [])
  const names = await readChainNames(request, parts, plans)
  return items.map(({ result, ...item }) => ({
    ...item,
    result: result === null ? null : viewOfSettlement(result, names),
  }))
}

function settleRoute(trigger: 'settle' | 'retry', summary: string) {
  return route({
    method: 'POST',
    path: `${logs}/:id/${trigger}`,
    summary,
    access: { permission: permissionCodes.execute, scope: 'caller' },
    fresh: '5m',
    // A person decides, also as the second person.
    annotations: [sessionOnly],
    request: { params: idParams, query: Type.Object({ acceptCauses }) },
    response: settlementView,
    reasons: [
      'approval.action-unknown',
      'approval.permission-missing',
      'approval.state-not-allowed',
      'approval.workflow-unknown',
      'web3-settlement.other-orders-out-of-scope',
      'web3-settlement.review-log-unknown',
      'web3-settlement.second-person-required',
    ],
    async handler(request, parts) {
      const { id } = request.params
      const acceptsCauses = request.query.acceptCauses
      const reached = (outTradeNos: readonly string[]) => readableOrders(request, parts.payments, outTradeNos)
      const acceptance = acceptsCauses ? { reached } : undefined
      const result = await parts.settlements.settle(id, trigger, reviewerOf(request), callerLogs(request), acceptance)
      const { outcome, reasons } = result
      await recorded(request, parts, trigger, id, { outcome, reasons, acceptsCauses })
      return viewOfSettlement(result, await readChainNames(request, parts, [result.plan]))
    },
  })
}

type Request = Pick<HttpRequest, 'principal' | 'clientIp' | 'traceId' | 'reason'>

function reviewerOf(request: Request): Reviewer {
  const principal = requirePrincipal(request)
  return { userId: principal.userId, permissions: permissionSnapshotOf(principal), traceId: request.traceId }
}

function recorded(
  request: Request,
  { kernel }: Pick<ReviewRouteDependencies, 'kernel'>,
  verb: string,
  subject: number | undefined,
  summary: AuditSummary,
): Promise<void> {
  const action = `web3-settlement-review.${verb}`
  return writeAuditEntry(kernel, {
    ...auditFieldsOfCaller(request),
    action,
    ...(subject === undefined ? {} : { subject }),
    summary,
  })
}
