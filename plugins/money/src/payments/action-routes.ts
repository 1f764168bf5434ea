import type { Database } from '@plinth/database'
import { id, line, nullable, reason, routesWith, Type, text } from '@plinth/http'
import { callerRows } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { auditFieldsOfCaller, type Kernel, writeAuditEntry } from '@plinth/kernel'
import {
  orderOwnerColumn,
  type PaymentOrder,
  type PaymentSuccessHandler,
  type Payments,
  paymentStatuses,
} from './contract.ts'
import { businessError, permissionCodes } from './declarations.ts'
import { orderView } from './payment-routes.ts'

interface ActionRouteDependencies {
  readonly payments: Payments
  readonly db: Database
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly handlers: ReadonlyMap<string, PaymentSuccessHandler>
}

const path = '/api/v1/admin/money/payment-orders/:outTradeNo'
const params = Type.Object({ outTradeNo: line(64, { minLength: 1 }) })
const amount = Type.Integer({ minimum: 0, description: 'Amount in minor units of the asset.' })
/** Provider whose payments the product cannot send back. */
const chainProvider = 'web3'
const chainHash = /^0x[0-9a-f]{64}$/

const refundAmount = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Amount to refund in minor units. Default: the amount that is not refunded yet.',
  }),
)
const previewBody = Type.Object({ amount: refundAmount })
const refundBody = Type.Object({
  amount: refundAmount,
  transactionHash: Type.Optional(
    line(128, {
      minLength: 1,
      description:
        'Number or hash of the transaction that returned the money. A refund with the same value is recorded only once. Required for payments on a chain.',
    }),
  ),
  reason: reason('Reason for the refund.'),
})

const blocks = ['order-not-paid', 'refund-exceeds-paid', 'refund-elsewhere', 'order-not-pending'] as const

const previewView = Type.Object({
  outTradeNo: text,
  provider: text,
  userId: nullable(id),
  asset: text,
  amount,
  refundedBefore: amount,
  refundedAfter: amount,
  statusBefore: Type.Enum(paymentStatuses),
  statusAfter: Type.Enum(paymentStatuses),
  possible: Type.Boolean(),
  blockedBy: nullable(Type.Enum(blocks), { description: 'Reason why the change is not possible.' }),
  transactionRequired: Type.Boolean({ description: 'True if the hash of the refund transaction is required.' }),
})

const { route } = routesWith<ActionRouteDependencies>()

/** A refund is only recorded here. The operator first returns the money at the provider or on the chain. */
export const actionRoutes = [
  route({
    method: 'POST',
    path: `${path}/refund/preview`,
    summary: 'Preview the record of a refund; changes nothing',
    access: { permission: permissionCodes.paymentRefund, scope: 'caller' },
    request: { params, body: previewBody },
    response: previewView,
    reasons: ['payment.order-unknown'],
    async handler(request, { payments, handlers }) {
      const order = await payments.get(request.params.outTradeNo, callerRows(request, orderOwnerColumn))
      const { status, amount: paid, refundedAmount } = order
      const amount = request.body.amount ?? paid - refundedAmount
      const blockedBy = blockOf(order, amount, handlers)
      const refundedAfter = blockedBy === null ? refundedAmount + amount : refundedAmount
      const statusAfter = blockedBy === null && refundedAfter === paid ? 'refunded' : status
      return {
        ...previewOf(order, blockedBy),
        amount,
        refundedBefore: refundedAmount,
        refundedAfter,
        statusBefore: status,
        statusAfter,
      }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/refund`,
    summary: 'Record a refund that was made at the provider or on the chain; transfers no money',
    access: { permission: permissionCodes.paymentRefund, scope: 'caller' },
    annotations: [idempotent],
    request: { params, body: refundBody },
    response: orderView.schema,
    reasons: [
      '*',
      'payment.order-not-paid',
      'payment.order-unknown',
      'payment.refund-differs',
      'payment.refund-elsewhere',
      'payment.refund-exceeds-paid',
      'payment.refund-hash-needed',
      'payment.terms-invalid',
    ],
    async handler(request, parts) {
      const { payments, db, handlers } = parts
      const { outTradeNo } = request.params
      const { transactionHash, reason } = request.body
      const before = await payments.get(outTradeNo, callerRows(request, orderOwnerColumn))
      if (handlers.get(before.scene)?.refundsItself) throw businessError('refund-elsewhere', { data: { outTradeNo } })
      const refundNo = refundNoOf(before, transactionHash) ?? `O${db.newId()}`
      return db.transactional(async () => {
        const amount = request.body.amount ?? before.amount - before.refundedAmount
        if (amount === 0)
          throw businessError('order-not-paid', { params: { status: before.status }, data: { status: before.status } })
        const { order, replayed } = await payments.refund({ outTradeNo, refundNo, amount, reason })
        const summary = { amount, asset: order.asset, refundNo }
        if (!replayed) await record(parts, request, 'payment-order.refund', outTradeNo, summary)
        return orderView.of(order)
      })
    },
  }),
  route({
    method: 'POST',
    path: `${path}/close/preview`,
    summary: 'Preview closing a payment order; changes nothing',
    access: { permission: permissionCodes.paymentClose, scope: 'caller' },
    request: { params, body: Type.Object({}) },
    response: previewView,
    reasons: ['payment.order-unknown'],
    async handler(request, { payments }) {
      const order = await payments.get(request.params.outTradeNo, callerRows(request, orderOwnerColumn))
      const { status, amount, refundedAmount } = order
      const blockedBy = status === 'pending' ? null : 'order-not-pending'
      return {
        ...previewOf(order, blockedBy),
        amount,
        refundedBefore: refundedAmount,
        refundedAfter: refundedAmount,
        transactionRequired: false,
        statusBefore: status,
        statusAfter: blockedBy === null ? ('closed' as const) : status,
      }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/close`,
    summary: 'Close an unpaid payment order; a later payment does not settle it',
    access: { permission: permissionCodes.paymentClose, scope: 'caller' },
    request: { params, body: Type.Object({ reason: reason('Reason for closing the order.') }) },
    response: orderView.schema,
    reasons: ['payment.order-not-pending', 'payment.order-unknown'],
    async handler(request, parts) {
      const { payments, db } = parts
      const { outTradeNo } = request.params
      const { reason } = request.body
      const before = await payments.get(outTradeNo, callerRows(request, orderOwnerColumn))
      return db.transactional(async () => {
        const order = await payments.close(outTradeNo)
        const summary = { amount: order.amount, asset: order.asset, reason }
        if (before.status !== 'closed') await record(parts, request, 'payment-order.close', outTradeNo, summary)
        return orderView.of(order)
      })
    },
  }),
]

const previewOf = (
  { outTradeNo, provider, userId, asset }: PaymentOrder,
  blockedBy: (typeof blocks)[number] | null,
) => ({
  outTradeNo,
  provider,
  userId,
  asset,
  blockedBy,
  possible: blockedBy === null,
  transactionRequired: provider === chainProvider,
})

function blockOf(
  { scene, status, amount: paid, refundedAmount }: PaymentOrder,
  amount: number,
  handlers: ActionRouteDependencies['handlers'],
): (typeof blocks)[number] | null {
  if (handlers.get(scene)?.refundsItself) return 'refund-elsewhere'
  if (status !== 'success') return 'order-not-paid'
  return refundedAmount + amount > paid ? 'refund-exceeds-paid' : null
}

/** @throws BusinessError `400` `payment.refund-hash-needed` */
function refundNoOf(
  { provider, transactionHash: paidBy }: PaymentOrder,
  named: string | undefined,
): string | undefined {
  if (provider !== chainProvider) return named
  const hash = named?.toLowerCase() ?? ''
  // The transaction that paid the order cannot also be its refund.
  if (!chainHash.test(hash) || hash === paidBy?.toLowerCase())
    throw businessError('refund-hash-needed', { data: { field: 'transactionHash' } })
  return hash
}

const record = (
  { kernel }: ActionRouteDependencies,
  request: Parameters<typeof auditFieldsOfCaller>[0] & { readonly body: { readonly reason: string } },
  action: string,
  subject: string,
  summary: Readonly<Record<string, string | number>>,
) => writeAuditEntry(kernel, { ...auditFieldsOfCaller(request), action, subject, summary, reason: request.body.reason })
