import { count, id, instant, nullable, Type } from '@plinth/http'
import type { Static } from 'typebox'
import { deliveries, type Goods, orderStatuses, type Refund, type Review, refundStatuses } from './entities.ts'
import type { OrderWithLines } from './orders.ts'

const amount = Type.Integer({ minimum: 0, description: 'Minor units of the currency.' })
const delivery = Type.Enum(deliveries)

export const goodsView = Type.Object({
  id,
  sku: Type.String(),
  name: Type.String(),
  price: amount,
  stock: count,
  delivery,
})

export const orderView = Type.Object({
  orderNo: Type.String(),
  userId: id,
  status: Type.Enum(orderStatuses),
  currency: Type.String(),
  goodsAmount: amount,
  couponAmount: amount,
  creditAmount: amount,
  cashAmount: amount,
  refundedAmount: amount,
  createdAt: instant,
  paidAt: nullable(instant),
  lines: Type.Array(
    Type.Object({
      id,
      goodsId: id,
      sku: Type.String(),
      name: Type.String(),
      delivery,
      price: amount,
      quantity: count,
      amount,
    }),
  ),
})

export const refundView = Type.Object({
  refundNo: Type.String(),
  orderNo: Type.String(),
  userId: id,
  amount,
  currency: Type.String({ description: 'Of the order.' }),
  reason: Type.String(),
  status: Type.Enum(refundStatuses),
  createdAt: instant,
  decidedAt: nullable(instant),
  decidedBy: nullable(Type.String()),
})

export const reviewView = Type.Object({ reviewId: id, lineId: id, rating: count, body: Type.String() })

export const viewOfGoods = ({ id, sku, name, price, stock, delivery }: Goods): Static<typeof goodsView> => ({
  id,
  sku,
  name,
  price,
  stock,
  delivery,
})

export function viewOfOrder({ order, lines }: OrderWithLines): Static<typeof orderView> {
  const { orderNo, userId, status, currency, goodsAmount, couponAmount, creditAmount, cashAmount, refundedAmount } =
    order
  return {
    orderNo,
    userId,
    status,
    currency,
    goodsAmount,
    couponAmount,
    creditAmount,
    cashAmount,
    refundedAmount,
    createdAt: order.createdAt.toISOString(),
    paidAt: order.paidAt?.toISOString() ?? null,
    lines: lines.map(({ id, goodsId, sku, name, delivery, price, quantity, amount }) => ({
      id,
      goodsId,
      sku,
      name,
      delivery,
      price,
      quantity,
      amount,
    })),
  }
}

/**
 * Returns a refund in the form of the API.
 * @param currency currency of the order
 */
export function viewOfRefund(refund: Refund, currency: string): Static<typeof refundView> {
  const { refundNo, orderNo, userId, amount, reason, status } = refund
  return {
    refundNo,
    orderNo,
    userId,
    amount,
    currency,
    reason,
    status,
    createdAt: refund.createdAt.toISOString(),
    decidedAt: refund.decidedAt?.toISOString() ?? null,
    decidedBy: refund.decidedBy ?? null,
  }
}

export const viewOfReview = ({ id: reviewId, lineId, rating, body }: Review): Static<typeof reviewView> => ({
  reviewId,
  lineId,
  rating,
  body,
})
