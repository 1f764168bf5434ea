import type { Database } from '@plinth/database'
import { line, routesWith, Type } from '@plinth/http'
import { type Identity, type Principal, requirePrincipal } from '@plinth/iam'
import { type AuditedRequest, auditFieldsOfCaller, type Kernel, writeAuditEntry } from '@plinth/kernel'
import { readOnlyResource } from '@plinth/resource'
import type { Mall } from './contract.ts'
import { creditReasons } from './credit.ts'
import { businessError, permissionCodes, viewOrders, viewRefunds } from './declarations.ts'
import { orderJson, refundJson, viewOfRow } from './views.ts'

interface AdminDependencies extends Mall {
  readonly db: Database
  readonly identity: Pick<Identity, 'isInScope'>
  readonly kernel: Pick<Kernel, 'contributions'>
}

const root = '/api/v1/admin/mall'
const orderNo = line(64, { minLength: 1 })

/**
 * True if the operator may decide about an order of this user. A deleted user has no organisation, so only an operator
 * with the scope `all` may.
 */
const isReached = async ({ identity }: AdminDependencies, principal: Principal, userId: number) =>
  principal.dataScope === 'all' || identity.isInScope(principal, userId)

/** Orders of customers, for operators. */
const orderList = readOnlyResource(orderJson, {
  area: 'mall',
  path: `${root}/orders`,
  list: {
    access: viewOrders,
    summary: 'List orders, newest first',
    range: 'createdAt',
    filters: ['status', 'userId', 'orderNo'],
  },
})

const refundList = readOnlyResource(refundJson, {
  area: 'mall',
  path: `${root}/refunds`,
  list: {
    access: viewRefunds,
    summary: 'List refunds, newest first',
    range: 'createdAt',
    filters: ['status', 'orderNo'],
    sort: ['createdAt'],
  },
})

export const adminLists = [...orderList.routes, ...refundList.routes]

const { route } = routesWith<AdminDependencies>()

/** Routes for operators. A row outside of the operator's data scope is reported as unknown. */
export const adminRoutes = [
  route({
    method: 'POST',
    path: `${root}/orders/:orderNo/ship`,
    summary: 'Mark a paid order as shipped',
    access: { permission: permissionCodes.orderShip, scope: 'caller' },
    request: { params: Type.Object({ orderNo }) },
    response: orderJson.schemas.view,
    reasons: ['mall.order-not-paid', 'mall.order-unknown'],
    async handler(request, parts) {
      const { orderNo } = request.params
      const order = await parts.orders.find(orderNo)
      if (!(await isReached(parts, requirePrincipal(request), order.userId))) throw businessError('order-unknown')
      await parts.db.transactional(async () => {
        await parts.orders.ship(orderNo)
        await record(parts, request, 'mall-order.ship', orderNo, {})
      })
      return viewOfRow(orderJson, await parts.orders.find(orderNo), request, parts.db)
    },
  }),
  route({
    method: 'POST',
    path: `${root}/refunds/:refundNo/decision`,
    summary: 'Approve or reject a refund',
    access: { permission: permissionCodes.refundDecide, scope: 'caller' },
    fresh: '5m',
    request: {
      params: Type.Object({ refundNo: line(64, { minLength: 1 }) }),
      body: Type.Object({ approve: Type.Boolean() }),
    },
    response: refundJson.schemas.view,
    reasons: [
      ...creditReasons,
      'mall.order-unknown',
      'mall.own-refund',
      'mall.refund-decided',
      'mall.refund-unknown',
      'money.exceeds-journal',
      'money.journal-not-reversible',
      'money.journal-unknown',
      'payment.order-not-paid',
      'payment.order-unknown',
      'payment.refund-differs',
      'payment.refund-exceeds-paid',
    ],
    async handler(request, parts) {
      const principal = requirePrincipal(request)
      const { refundNo } = request.params
      const { approve } = request.body
      const { userId } = await parts.refunds.get(refundNo)
      if (!(await isReached(parts, principal, userId))) throw businessError('refund-unknown')
      if (userId === principal.userId) throw businessError('own-refund')
      return parts.db.transactional(async () => {
        const refund = await parts.refunds.decide(refundNo, approve, principal.username)
        await record(parts, request, 'mall-refund.decide', refundNo, { approve, amount: refund.amount })
        return viewOfRow(refundJson, refund, request, parts.db)
      })
    },
  }),
]

const record = (
  { kernel }: AdminDependencies,
  request: AuditedRequest,
  action: string,
  subject: string,
  summary: Readonly<Record<string, string | number | boolean>>,
) => writeAuditEntry(kernel, { ...auditFieldsOfCaller(request), action, subject, summary })
