import type { Database } from '@plinth/database'
import { id, line, listPage, listQuery, listResponse, newestFirst, reason, routesWith, Type } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { readOnlyResource } from '@plinth/resource'
import type { Mall } from './contract.ts'
import { creditReasons } from './credit.ts'
import { goodsView, orderJson, refundJson, reviewView, viewOfReview, viewOfRow } from './views.ts'

const root = '/api/v1/mall'
const orderNo = line(64, { minLength: 1 })
const params = Type.Object({ orderNo })
const basket = Type.Object({
  lines: Type.Array(Type.Object({ goodsId: id, quantity: Type.Integer({ minimum: 1, maximum: 99 }) }), {
    minItems: 1,
    maxItems: 20,
  }),
  couponCode: Type.Optional(line(32, { minLength: 1 })),
  credit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Units of credit that pay a part of it, one for each minor unit.',
    }),
  ),
})

/** Orders of the caller. */
export const ownOrders = readOnlyResource(orderJson, {
  area: 'mall',
  path: `${root}/orders`,
  list: { access: 'user', summary: 'List your orders, newest first', filters: ['status'] },
})

const { route } = routesWith<Mall & { readonly db: Database }>()

/** Routes for customers. Each customer sees only their own orders. */
export const memberRoutes = [
  route({
    method: 'GET',
    path: `${root}/goods`,
    summary: 'List goods on sale, newest first',
    access: 'user',
    request: { query: listQuery },
    response: listPage(goodsView.schema),
    reasons: [],
    handler: ({ query }, { catalogue }) =>
      listResponse(query, newestFirst, async (window) => {
        const found = await catalogue.list(window)
        return { ...found, items: found.items.map(goodsView.of) }
      }),
  }),
  route({
    method: 'POST',
    path: `${root}/orders`,
    summary: 'Order goods; they are reserved until the payment timeout',
    access: 'user',
    annotations: [idempotent],
    request: { body: basket },
    response: orderJson.schemas.view,
    reasons: [
      ...creditReasons,
      'mall.coupon-unusable',
      'mall.coupon-used',
      'mall.credit-exceeds-price',
      'mall.credit-off',
      'mall.goods-repeated',
      'mall.goods-unknown',
      'mall.order-not-unpaid',
      'mall.stock-short',
    ],
    async handler(request, { orders, db }) {
      const orderNo = await orders.create(requirePrincipal(request).userId, request.body)
      return viewOfRow(orderJson, await orders.find(orderNo), request, db)
    },
  }),
  route({
    method: 'GET',
    path: `${root}/orders/:orderNo`,
    summary: 'Get one of your orders',
    access: 'user',
    request: { params },
    response: orderJson.schemas.view,
    reasons: ['mall.order-unknown'],
    async handler(request, { orders, db }) {
      const order = await orders.find(request.params.orderNo, requirePrincipal(request).userId)
      return viewOfRow(orderJson, order, request, db)
    },
  }),
  route({
    method: 'POST',
    path: `${root}/orders/:orderNo/payments`,
    summary: 'Pay one of your orders',
    access: 'user',
    request: {
      params,
      body: Type.Object({
        provider: Type.Enum(['test'], { description: '`test`: no money flows; only where the product lets it.' }),
      }),
    },
    response: orderJson.schemas.view,
    reasons: [...creditReasons, 'mall.order-not-unpaid', 'mall.order-unknown', 'mall.test-payments-off'],
    async handler(request, { orders, db }) {
      const { orderNo } = request.params
      await orders.payForTest(requirePrincipal(request).userId, orderNo)
      return viewOfRow(orderJson, await orders.find(orderNo), request, db)
    },
  }),
  route({
    method: 'POST',
    path: `${root}/orders/:orderNo/cancel`,
    summary: 'Cancel one of your unpaid orders',
    access: 'user',
    request: { params },
    response: orderJson.schemas.view,
    reasons: [...creditReasons, 'mall.order-not-unpaid', 'mall.order-unknown', 'payment.order-not-pending'],
    async handler(request, { orders, db }) {
      const { orderNo } = request.params
      await orders.cancel(requirePrincipal(request).userId, orderNo)
      return viewOfRow(orderJson, await orders.find(orderNo), request, db)
    },
  }),
  route({
    method: 'POST',
    path: `${root}/orders/:orderNo/refunds`,
    summary: 'Request a refund for one of your orders',
    access: 'user',
    annotations: [idempotent],
    request: {
      params,
      body: Type.Object({
        amount: Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Minor units. 0 for an order that was paid with credit alone: all of the credit comes back.',
        }),
        reason: reason('Why the money is wanted back.'),
      }),
    },
    response: refundJson.schemas.view,
    reasons: [
      'mall.order-not-paid',
      'mall.order-unknown',
      'mall.refund-asked',
      'mall.refund-exceeds-paid',
      'mall.refund-of-nothing',
    ],
    async handler(request, { refunds, db }) {
      const refund = await refunds.request(requirePrincipal(request).userId, request.params.orderNo, request.body)
      return viewOfRow(refundJson, refund, request, db)
    },
  }),
  route({
    method: 'PUT',
    path: `${root}/orders/:orderNo/lines/:lineId/review`,
    summary: 'Review a purchase, or replace your review',
    access: 'user',
    request: {
      params: Type.Object({ orderNo, lineId: id }),
      body: Type.Object({ rating: Type.Integer({ minimum: 1, maximum: 5 }), body: line(500) }),
    },
    response: reviewView,
    reasons: ['mall.line-unknown', 'mall.order-not-paid', 'mall.order-unknown'],
    async handler(request, { reviews }) {
      const { orderNo, lineId } = request.params
      return viewOfReview(await reviews.save(requirePrincipal(request).userId, orderNo, lineId, request.body))
    },
  }),
]
