import {
  count,
  filterQuery,
  type HttpRequest,
  id,
  idParams,
  instant,
  line,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  nullable,
  rangeQuery,
  reason,
  routesWith,
  Type,
  text,
} from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { type AuditSummary, auditFieldsOfCaller, isBusinessError, writeAuditEntry } from '@plinth/kernel'
import { type PaymentOrder, paymentStatuses } from '@plinth/money/payments'
import type { Static } from 'typebox'
import { assertOrdersReadable, callerLogs, readableOrders } from '../caller-orders.ts'
import { type ChainNames, readChainNames, tokenKey, unknownToken } from '../chain-names.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import { type UnmatchedRow, unmatchedSources, unmatchedStates } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { outTradeNo } from '../reviews/confirmation-routes.ts'
import type { Handling, UnmatchedFacts } from './unmatched-payments.ts'
import { unmatchedKinds } from './unmatched-transfers.ts'

type UnmatchedRouteDependencies = Pick<
  Parts,
  'db' | 'kernel' | 'payments' | 'chains' | 'tokens' | 'candidates' | 'unmatched'
>

const path = '/api/v1/admin/web3/unmatched-payments'

const amount = nullable(count, {
  description: 'Amount in minor units of `asset`, rounded down. Null if the token has no price in this asset.',
})
const decimals = nullable(Type.Integer({ minimum: 0, maximum: 77 }), {
  description: 'Decimal places of the token according to its contract. Null if unknown.',
})

const unmatchedView = Type.Object({
  id,
  outTradeNo: Type.String({ description: 'Order that the payer or an operator named.' }),
  kind: Type.Enum(unmatchedKinds),
  state: Type.Enum(unmatchedStates),
  source: Type.Enum(unmatchedSources),
  userId: nullable(id, { description: 'Buyer of the order.' }),
  chainName: text,
  explorer: nullable(text, {
    description: 'URL of a block explorer, which has the paths `/tx/`, `/address/` and `/block/`.',
  }),
  transactionHash: text,
  eventKey: text,
  logIndex: count,
  logOrdinal: count,
  blockNumber: count,
  tokenContract: text,
  receiver: text,
  payer: Type.String({ description: 'Address that sent the transfer.' }),
  value: Type.String({ description: 'Amount in the smallest units of the token, as decimal text.' }),
  decimals,
  symbol: nullable(text, { description: 'Symbol of the token according to its contract.' }),
  amount,
  asset: nullable(text, { description: 'Asset of the order.' }),
  repaymentHash: nullable(text),
  actorUserId: nullable(id, { description: 'Operator who named the transaction. Null if the order named it.' }),
  handledBy: nullable(id),
  handledAt: nullable(instant),
  reason: nullable(text),
  createdAt: instant,
})

const detailView = Type.Object({
  ...unmatchedView.properties,
  orderStatus: Type.Enum(paymentStatuses),
  sentByBuyer: Type.Boolean({
    description: 'True if the sender is the proven payer of the order, or is bound by key to the account of the buyer.',
  }),
  otherOrders: Type.Array(text, {
    description: 'Other orders that name the same transfer, without orders outside the data scope of the caller.',
  }),
  otherOrdersTotal: count,
  fingerprint: Type.String({ description: 'Changes with each of these facts. A decision must contain it.' }),
})

const fingerprint = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'Fingerprint of the data that the operator saw. If the data has changed, the decision is rejected.',
})
const receiver = Type.Optional(
  line(128, {
    minLength: 1,
    description: 'Address that received the money. Default: the address that sent the transfer.',
  }),
)
const repaymentHash = Type.String({
  pattern: '^0x[0-9a-fA-F]{64}$',
  description: 'Hash of the transaction that returned the money. Each transfer is recorded once.',
})

const possible = Type.Boolean()
const blockedBy = nullable(text, { description: 'Reason why the decision is not possible, as in its error.' })
const creditPreview = Type.Object({
  possible,
  blockedBy,
  userId: nullable(id),
  amount,
  asset: text,
  availableAfter: amount,
  sentByBuyer: Type.Boolean(),
  otherOrdersTotal: count,
})
const repaymentPreview = Type.Object({
  possible,
  blockedBy,
  value: text,
  decimals,
  symbol: nullable(text),
  payer: text,
})

const ofDecision = [
  'web3-settlement.chain-not-available',
  'web3-settlement.other-orders-out-of-scope',
  'web3-settlement.second-person-required',
  'web3-settlement.unmatched-payment-changed',
  'web3-settlement.unmatched-payment-closed',
  'web3-settlement.unmatched-payment-settles-order',
  'web3-settlement.unmatched-payment-unknown',
] as const
const range = rangeQuery('createdAt', 'id')

const unmatchedFilter = filterQuery(unmatchedView, [
  'outTradeNo',
  'kind',
  'state',
  'transactionHash',
  'payer',
  'receiver',
  'amount',
  'handledAt',
])

const { route } = routesWith<UnmatchedRouteDependencies>()

/** Routes for transfers that settle no order. */
export const unmatchedRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'List unmatched payments, newest first',
    access: { permission: permissionCodes.unmatchedView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...unmatchedFilter.properties,
        ...range.properties,
        outTradeNo: Type.Optional(outTradeNo),
        state: Type.Optional(Type.Enum(unmatchedStates)),
        kind: Type.Optional(Type.Enum(unmatchedKinds)),
      }),
    },
    response: listPage(unmatchedView),
    reasons: [],
    handler(request, parts) {
      const { outTradeNo, state, kind } = request.query
      const where = {
        ...(outTradeNo === undefined ? {} : { outTradeNo }),
        ...(state === undefined ? {} : { state }),
        ...(kind === undefined ? {} : { kind }),
      }
      return listResponse(
        request.query,
        newestFirst,
        async (window) => {
          const found = await parts.unmatched.list(where, callerLogs(request), window)
          const viewOf = await createView(request, parts, found.items)
          return mapListRows(found, viewOf)
        },
        range,
        unmatchedFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get an unmatched payment with the facts that a decision needs',
    access: { permission: permissionCodes.unmatchedView, scope: 'caller' },
    request: { params: idParams },
    response: detailView,
    reasons: ['payment.order-unknown', 'web3-settlement.unmatched-payment-unknown'],
    async handler(request, parts) {
      const row = await parts.unmatched.get(request.params.id, callerLogs(request))
      return detailOf(request, parts, await parts.unmatched.factsOf(row))
    },
  }),
  route({
    method: 'POST',
    path,
    summary: 'Search a transaction for transfers that settle no order, and record them for the order',
    description: 'Repeating the call records nothing again. The transaction must be confirmed.',
    access: { permission: permissionCodes.unmatchedHandle, scope: 'caller' },
    request: { body: Type.Object({ outTradeNo, transactionHash: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }) }) },
    response: Type.Object({ items: Type.Array(unmatchedView) }),
    reasons: ['payment.order-unknown', 'web3-settlement.unmatched-payment-missing'],
    async handler(request, parts) {
      const { outTradeNo, transactionHash } = request.body
      const { db, candidates, unmatched, payments } = parts
      await assertOrdersReadable(request, payments, [outTradeNo])
      await payments.get(outTradeNo)
      const candidate = await candidates.of({ outTradeNo, transactionHash, wasMined: false })
      const rows = await db.transactional(async () => {
        const found = await unmatched.record(candidate, 'operator', requirePrincipal(request).userId)
        if (found.length > 0) await recorded(request, parts, 'search', undefined, { outTradeNo, found: found.length })
        return found
      })
      if (rows.length === 0) {
        throw businessError('unmatched-payment-missing', { data: { reasons: candidate.plan.reasons } })
      }
      return { items: rows.map(await createView(request, parts, rows)) }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/credit/preview`,
    summary: 'Preview crediting an unmatched payment to the buyer; changes nothing',
    access: { permission: permissionCodes.unmatchedHandle, scope: 'caller' },
    request: { params: idParams },
    response: creditPreview,
    reasons: ['payment.order-unknown', 'web3-settlement.unmatched-payment-unknown'],
    async handler(request, parts) {
      const { unmatched } = parts
      const rows = callerLogs(request)
      const { row, order, isSentByBuyer, otherOrders } = await unmatched.factsOf(
        await unmatched.get(request.params.id, rows),
      )
      const rehearsed = await rehearsalOf(() =>
        unmatched.credit(row.id, rows, rehearsing(request, parts), async () => {}),
      )
      return {
        possible: rehearsed.rejection === null,
        blockedBy: rehearsed.rejection,
        userId: order.userId,
        amount: row.amount ?? null,
        asset: order.asset,
        availableAfter: rehearsed.result?.available ?? null,
        sentByBuyer: isSentByBuyer,
        otherOrdersTotal: otherOrders.length,
      }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/credit`,
    summary: 'Credit an unmatched payment to the account of the buyer; the order does not change',
    access: { permission: permissionCodes.unmatchedHandle, scope: 'caller' },
    fresh: '5m',
    annotations: [idempotent],
    request: { params: idParams, body: Type.Object({ fingerprint, reason: reason('Reason for the credit.') }) },
    response: unmatchedView,
    reasons: [
      '*',
      ...ofDecision,
      'payment.order-unknown',
      'payment.unmatched-already-used',
      'payment.unmatched-without-account',
      'web3-settlement.own-account',
      'web3-settlement.unmatched-payment-not-creditable',
    ],
    async handler(request, parts) {
      const handling = { ...rehearsing(request, parts), ...request.body, isRehearsal: false }
      const { row } = await parts.unmatched.credit(request.params.id, callerLogs(request), handling, (credited) =>
        recorded(request, parts, 'credit', credited.id, summaryOf(credited), credited.reason),
      )
      return (await createView(request, parts, [row]))(row)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/repayment/preview`,
    summary: 'Preview the record of a repayment; changes nothing',
    access: { permission: permissionCodes.unmatchedHandle, scope: 'caller' },
    request: { params: idParams, body: Type.Object({ transactionHash: repaymentHash, receiver }) },
    response: repaymentPreview,
    reasons: ['payment.order-unknown', 'web3-settlement.unmatched-payment-unknown'],
    async handler(request, parts) {
      const { unmatched } = parts
      const rows = callerLogs(request)
      const row = await unmatched.get(request.params.id, rows)
      const { rejection } = await rehearsalOf(() =>
        unmatched.repay(row.id, rows, request.body, rehearsing(request, parts), async () => {}),
      )
      const { value, decimals, symbol, payer } = (await createView(request, parts, [row]))(row)
      return { possible: rejection === null, blockedBy: rejection, value, decimals, symbol, payer }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/repayment`,
    summary: 'Record that an unmatched payment was returned; transfers no money',
    access: { permission: permissionCodes.unmatchedHandle, scope: 'caller' },
    fresh: '5m',
    annotations: [idempotent],
    request: {
      params: idParams,
      body: Type.Object({
        transactionHash: repaymentHash,
        receiver,
        fingerprint,
        reason: reason('Reason for the repayment.'),
      }),
    },
    response: unmatchedView,
    reasons: [
      ...ofDecision,
      'payment.order-unknown',
      'payment.refund-already-used',
      'payment.refund-is-payment',
      'payment.refund-not-verifiable',
      'payment.refund-receiver-needed',
      'payment.refund-transfer-missing',
      'payment.refund-unconfirmed',
      'payment.unmatched-already-used',
    ],
    async handler(request, parts) {
      const { body, params } = request
      const handling = { ...rehearsing(request, parts), ...body, isRehearsal: false }
      const row = await parts.unmatched.repay(params.id, callerLogs(request), body, handling, (repaid) =>
        recorded(
          request,
          parts,
          'repay',
          repaid.id,
          { ...summaryOf(repaid), repaymentHash: repaid.repaymentHash ?? '' },
          repaid.reason,
        ),
      )
      return (await createView(request, parts, [row]))(row)
    },
  }),
]

type Request = Pick<HttpRequest, 'principal' | 'clientIp' | 'traceId' | 'reason'>

const rehearsing = (request: Request, { payments }: Pick<UnmatchedRouteDependencies, 'payments'>): Handling => ({
  userId: requirePrincipal(request).userId,
  reason: 'preview',
  isRehearsal: true,
  reached: (outTradeNos) => readableOrders(request, payments, outTradeNos),
})

/** @returns the result of a rehearsal, or the reason of the business error that ended it */
async function rehearsalOf<T>(rehearsal: () => Promise<T>) {
  try {
    return { result: await rehearsal(), rejection: null }
  } catch (error) {
    if (isBusinessError(error) && error.reason !== undefined) return { result: undefined, rejection: error.reason }
    throw error
  }
}

async function createView(
  request: Request,
  parts: UnmatchedRouteDependencies,
  rows: readonly UnmatchedRow[],
): Promise<(row: UnmatchedRow) => Static<typeof unmatchedView>> {
  const named = rows.map(({ chainName, token }) => ({ chainName, expectedToken: token, transfer: null }))
  const names = await readChainNames(request, parts, named)
  const orders = await parts.payments.findMany([...new Set(rows.map((row) => row.outTradeNo))])
  return (row) => viewOf(row, orders.get(row.outTradeNo), names)
}

function viewOf(
  row: UnmatchedRow,
  order: PaymentOrder | undefined,
  { explorers, tokens }: ChainNames,
): Static<typeof unmatchedView> {
  const { chainName, token, amountRaw } = row
  return {
    id: row.id,
    outTradeNo: row.outTradeNo,
    kind: row.kind,
    state: row.state,
    source: row.source,
    userId: order?.userId ?? null,
    chainName,
    explorer: explorers.get(chainName) ?? null,
    transactionHash: row.transactionHash,
    eventKey: row.eventKey,
    logIndex: row.logIndex,
    logOrdinal: row.logOrdinal,
    blockNumber: row.blockNumber,
    tokenContract: token,
    receiver: row.receiver,
    payer: row.payer,
    value: amountRaw,
    ...(tokens.get(tokenKey(chainName, token)) ?? unknownToken),
    amount: row.amount ?? null,
    asset: order?.asset ?? null,
    repaymentHash: row.repaymentHash ?? null,
    actorUserId: row.actorUserId ?? null,
    handledBy: row.handledBy ?? null,
    handledAt: row.handledAt?.toISOString() ?? null,
    reason: row.reason ?? null,
    createdAt: row.createdAt.toISOString(),
  }
}

async function detailOf(
  request: Request,
  parts: UnmatchedRouteDependencies,
  { row, order, isSentByBuyer, otherOrders, fingerprint }: UnmatchedFacts,
): Promise<Static<typeof detailView>> {
  const view = await createView(request, parts, [row])
  const inScope = await readableOrders(request, parts.payments, otherOrders)
  return {
    ...view(row),
    orderStatus: order.status,
    sentByBuyer: isSentByBuyer,
    otherOrders: otherOrders.filter((one) => inScope?.has(one) !== false),
    otherOrdersTotal: otherOrders.length,
    fingerprint,
  }
}

const summaryOf = ({ outTradeNo, eventKey, amountRaw, amount }: UnmatchedRow) => ({
  outTradeNo,
  eventKey,
  value: amountRaw,
  ...(amount == null ? {} : { amount }),
})

const recorded = (
  request: Request,
  { kernel }: Pick<UnmatchedRouteDependencies, 'kernel'>,
  verb: string,
  subject: number | undefined,
  summary: AuditSummary,
  reason?: string | null,
): Promise<void> =>
  writeAuditEntry(kernel, {
    ...auditFieldsOfCaller(request),
    action: `web3-unmatched-payment.${verb}`,
    ...(subject === undefined ? {} : { subject }),
    summary,
    ...(reason == null ? {} : { reason }),
  })
