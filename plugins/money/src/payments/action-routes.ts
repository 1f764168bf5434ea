import { type Database, rehearse } from '@plinth/database'
import { id, line, nullable, reason, routesWith, Type, text } from '@plinth/http'
import { callerRows } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { auditFieldsOfCaller, isBusinessError, type Kernel, writeAuditEntry } from '@plinth/kernel'
import {
  orderOwnerColumn,
  type PaymentOrder,
  type PaymentSuccessHandler,
  type Payments,
  paymentStatuses,
} from './contract.ts'
import { businessError, permissionCodes } from './declarations.ts'
import { orderView } from './payment-routes.ts'
import { chainProvider } from './refunds.ts'

interface ActionRouteDependencies {
  readonly payments: Payments
  readonly db: Database
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly handlers: ReadonlyMap<string, PaymentSuccessHandler>
}

const path = '/api/v1/admin/money/payment-orders/:outTradeNo'
const params = Type.Object({ outTradeNo: line(64, { minLength: 1 }) })
const amount = Type.Integer({ minimum: 0, description: 'Amount in minor units of the asset.' })

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
        'Number or hash of the transaction that returned the money. Required for payments on a chain. Each number, and each transfer on a chain, is recorded for one order only.',
    }),
  ),
  receiver: Type.Optional(
    line(128, {
      minLength: 1,
      description: 'Address that received the money, for payments on a chain. Default: the address that paid.',
    }),
  ),
  recoverLater: Type.Optional(
    Type.Boolean({
      description:
        'For a recharge: if the user has already spent the amount, later credits of the account pay what is missing. Default: it is only recorded as owed.',
    }),
  ),
  reason: reason('Reason for the refund.'),
})

const blocks = [
  'order-not-paid',
  'refund-exceeds-paid',
  'refund-elsewhere',
  'refund-rejected',
  'order-not-pending',
] as const

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
  rejection: nullable(text, {
    description: 'For `refund-rejected`: reason of the handler of the order, such as `money.balance-insufficient`.',
  }),
  transactionRequired: Type.Boolean({ description: 'True if the hash of the refund transaction is required.' }),
  owed: Type.Integer({
    minimum: 0,
    description: 'Part of the amount that the user has already spent, and will owe. In minor units.',
  }),
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
    async handler(request, { payments, db, handlers }) {
      const order = await payments.get(request.params.outTradeNo, callerRows(request, orderOwnerColumn))
      const { status, amount: paid, refundedAmount } = order
      const amount = request.body.amount ?? paid - refundedAmount
      const block = blockOf(order, amount, handlers)
      const sum = block === null ? refundedAmount + amount : refundedAmount
      const after = { ...order, refundedAmount: sum, status: sum === paid ? ('refunded' as const) : status }
      const rejection = block === null ? await rejectionOf(db, handlers, after, amount) : null
      const blockedBy = rejection === null ? block : 'refund-rejected'
      const { refundedAmount: refundedAfter, status: statusAfter } = blockedBy === null ? after : order
      return {
        ...previewOf(order, blockedBy, rejection),
        amount,
        refundedBefore: refundedAmount,
        refundedAfter,
        statusBefore: status,
        statusAfter,
        owed: blockedBy === null ? ((await handlers.get(order.scene)?.owedAfter?.(order, amount)) ?? 0) : 0,
      }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/refund`,
    summary: 'Record a refund that was made at the provider or on the chain; transfers no money',
    access: { permission: permissionCodes.paymentRefund, scope: 'caller' },
    fresh: '5m',
    annotations: [idempotent],
    request: { params, body: refundBody },
    response: orderView.schema,
    reasons: [
      '*',
      'payment.order-not-paid',
      'payment.order-unknown',
      'payment.refund-already-used',
      'payment.refund-differs',
      'payment.refund-elsewhere',
      'payment.refund-exceeds-paid',
      'payment.refund-hash-needed',
      'payment.refund-is-payment',
      'payment.refund-not-verifiable',
      'payment.refund-receiver-needed',
      'payment.refund-transfer-missing',
      'payment.refund-unconfirmed',
      'payment.terms-invalid',
    ],
    async handler(request, parts) {
      const { payments, db, handlers } = parts
      const { outTradeNo } = request.params
      const { amount: requested, transactionHash, receiver, recoverLater, reason } = request.body
      const before = await payments.get(outTradeNo, callerRows(request, orderOwnerColumn))
      if (handlers.get(before.scene)?.refundsItself) throw businessError('refund-elsewhere', { data: { outTradeNo } })
      const reference = transactionHash ?? `O${db.newId()}`
      const refund = await payments.checkRefund({
        outTradeNo,
        refundNo: reference,
        amount: requested,
        receiver,
        reason,
        recovery: recoverLater === true ? 'future-credits' : 'none',
      })
      return db.transactional(async () => {
        const { order, owed, replayed } = await payments.refund(refund)
        const { amount, refundNo, recovery = 'none' } = refund
        const summary = {
          amount,
          asset: order.asset,
          refundNo,
          ...(receiver === undefined ? {} : { receiver }),
          ...(owed === 0 ? {} : { owed, recovery }),
        }
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
        owed: 0,
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
  rejection: string | null = null,
) => ({
  outTradeNo,
  provider,
  userId,
  asset,
  blockedBy,
  rejection,
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

/** Calls the handler of the order in a transaction that is rolled back. @returns the reason why it rejects the refund */
async function rejectionOf(
  db: Database,
  handlers: ActionRouteDependencies['handlers'],
  order: PaymentOrder,
  amount: number,
): Promise<string | null> {
  const { outTradeNo, scene } = order
  const handler = handlers.get(scene)
  if (handler?.refunded === undefined) return null
  try {
    await rehearse(db, async () => handler.refunded?.(order, { outTradeNo, refundNo: 'preview', amount }))
    return null
  } catch (error) {
    if (isBusinessError(error)) return error.reason ?? null
    throw error
  }
}

const record = (
  { kernel }: ActionRouteDependencies,
  request: Parameters<typeof auditFieldsOfCaller>[0] & { readonly body: { readonly reason: string } },
  action: string,
  subject: string,
  summary: Readonly<Record<string, string | number>>,
) => writeAuditEntry(kernel, { ...auditFieldsOfCaller(request), action, subject, summary, reason: request.body.reason })
