import type { Database } from '@plinth/database'
import { id, line, listPage, listQuery, listResponse, newestFirst, rangeQuery, routesWith, Type } from '@plinth/http'
import { type Identity, type Principal, requirePrincipal } from '@plinth/iam'
import { type AuditedRequest, auditFieldsOfCaller, type Kernel, writeAuditEntry } from '@plinth/kernel'
import type { Mall } from './contract.ts'
import { creditReasons } from './credit.ts'
import { businessError, permissionCodes } from './declarations.ts'
import { orderStatuses, refundStatuses } from './entities.ts'
import { orderView, refundView, viewOfOrder, viewOfRefund } from './views.ts'

interface AdminDependencies extends Mall {
  readonly db: Database
  readonly identity: Pick<Identity, 'rowsInScope' | 'isInScope'>
  readonly kernel: Pick<Kernel, 'contributions'>
}

const root = '/api/v1/admin/mall'
const orderNo = line(64, { minLength: 1 })

/** Limits the conditions to rows in the data scope of the operator. */
const inScope = (given: object, { identity }: AdminDependencies, principal: Principal) => ({
  $and: [given, identity.rowsInScope(principal, 'user_id')],
})

/**
 * True if the operator may decide about an order of this user. A deleted user has no organisation, so only an operator
 * with the scope `all` may.
 */
const isReached = async ({ identity }: AdminDependencies, principal: Principal, userId: number) =>
  principal.dataScope === 'all' || identity.isInScope(principal, userId)

const withoutAbsent = (members: object) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const range = rangeQuery('createdAt', 'id')

const { route } = routesWith<AdminDependencies>()

/** Routes for operators. A row outside of the operator's data scope is reported as unknown. */
export const adminRoutes = [
  route({
    method: 'GET',
    path: `${root}/orders`,
    summary: 'List orders, newest first',
    access: { permission: permissionCodes.orderView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...range.properties,
        status: Type.Optional(Type.Enum(orderStatuses)),
        userId: Type.Optional(id),
        orderNo: Type.Optional(orderNo),
      }),
    },
    response: listPage(orderView),
    reasons: [],
    handler(request, parts) {
      const { status, userId, orderNo } = request.query
      const where = inScope(withoutAbsent({ status, userId, orderNo }), parts, requirePrincipal(request))
      return listResponse(
        request.query,
        newestFirst,
        async (window) => {
          const found = await parts.orders.list(where, window)
          return { ...found, items: found.items.map(viewOfOrder) }
        },
        range,
      )
    },
  }),
  route({
    method: 'POST',
    path: `${root}/orders/:orderNo/ship`,
    summary: 'Mark a paid order as shipped',
    access: { permission: permissionCodes.orderShip, scope: 'caller' },
    request: { params: Type.Object({ orderNo }) },
    response: orderView,
    reasons: ['mall.order-not-paid', 'mall.order-unknown'],
    async handler(request, parts) {
      const { orderNo } = request.params
      const { order } = await parts.orders.get(orderNo)
      if (!(await isReached(parts, requirePrincipal(request), order.userId))) throw businessError('order-unknown')
      await parts.db.transactional(async () => {
        await parts.orders.ship(orderNo)
        await record(parts, request, 'mall-order.ship', orderNo, {})
      })
      return viewOfOrder(await parts.orders.get(orderNo))
    },
  }),
  route({
    method: 'GET',
    path: `${root}/refunds`,
    summary: 'List refunds, newest first',
    access: { permission: permissionCodes.refundView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...range.properties,
        status: Type.Optional(Type.Enum(refundStatuses)),
      }),
    },
    response: listPage(refundView),
    reasons: [],
    handler(request, parts) {
      const { status } = request.query
      const where = inScope(withoutAbsent({ status }), parts, requirePrincipal(request))
      return listResponse(
        request.query,
        newestFirst,
        async (window) => {
          const found = await parts.refunds.list(where, window)
          const currencies = await parts.orders.currenciesOf(found.items.map(({ orderId }) => orderId))
          return { ...found, items: found.items.map((one) => viewOfRefund(one, currencies.get(one.orderId) ?? '')) }
        },
        range,
      )
    },
  }),
  route({
    method: 'POST',
    path: `${root}/refunds/:refundNo/decision`,
    summary: 'Approve or reject a refund',
    access: { permission: permissionCodes.refundDecide, scope: 'caller' },
    request: {
      params: Type.Object({ refundNo: line(64, { minLength: 1 }) }),
      body: Type.Object({ approve: Type.Boolean() }),
    },
    response: refundView,
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
        const { order } = await parts.orders.get(refund.orderNo)
        return viewOfRefund(refund, order.currency)
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
