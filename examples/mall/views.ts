import type { SqlEntityManager } from '@mikro-orm/sql'
import { type Database, selectionOf } from '@plinth/database'
import { count, id, nullable, Type, text, viewOf } from '@plinth/http'
import type { Static } from 'typebox'
import { amount, deliveries, Goods, Order, OrderLine, Refund, type Review } from './entities.ts'

const delivery = Type.Enum(deliveries)

export const goodsView = viewOf(selectionOf(Goods).pick('id', 'sku', 'name', 'price', 'stock', 'delivery'), {
  price: amount,
  stock: count,
  delivery,
})

const lineView = viewOf(selectionOf(OrderLine).omit('orderId'), { delivery, price: amount, quantity: count, amount })

/** An order with its lines. */
export const orderJson = Order.shape({
  members: {
    payment: Order.loaded(
      ['Payment', '支付'],
      nullable(text, { description: 'Number of the payment order that paid this order.' }),
      async (orders) =>
        new Map(
          orders.map(({ id, orderNo, paymentProvider }) => [
            id,
            paymentProvider == null || paymentProvider === 'none' ? null : orderNo,
          ]),
        ),
    ),
    lines: Order.loaded(undefined, Type.Array(lineView.schema), async (orders, { em }) => {
      const orderId = { $in: orders.map(({ id }) => id) }
      const lines = await em.find(OrderLine, { orderId }, { orderBy: { orderId: 'asc', id: 'asc' } })
      const linesOf = Map.groupBy(lines, (line) => line.orderId)
      return new Map(orders.map(({ id }) => [id, (linesOf.get(id) ?? []).map(lineView.of)]))
    }),
  },
  only: [
    'orderNo',
    'userId',
    'status',
    'currency',
    'goodsAmount',
    'couponAmount',
    'creditAmount',
    'cashAmount',
    'refundedAmount',
    'createdAt',
    'paidAt',
    'payment',
    'lines',
  ],
})

/** A refund with the currency of its order. */
export const refundJson = Refund.shape({
  members: {
    currency: Refund.loaded(undefined, Type.String({ description: 'Of the order.' }), async (refunds, { em }) => {
      const orders = await em.find(Order.entity, { id: { $in: refunds.map(({ orderId }) => orderId) } })
      const currencies = new Map(orders.map(({ id, currency }) => [id, currency]))
      return new Map(refunds.map(({ id, orderId }) => [id, currencies.get(orderId) ?? '']))
    }),
  },
  only: [
    'refundNo',
    'orderNo',
    'userId',
    'amount',
    'currency',
    'reason',
    'status',
    'createdAt',
    'decidedAt',
    'decidedBy',
  ],
})

/** Returns one row in the form of the API. */
export async function viewOfRow<Row, View extends object>(
  shape: { viewsOf(rows: readonly Row[], at: { now: Date; locale: string; em: SqlEntityManager }): Promise<View[]> },
  row: Row,
  { locale }: { readonly locale: string },
  db: Database,
): Promise<Partial<View>> {
  const [view] = await shape.viewsOf([row], { now: new Date(db.clock.now()), locale, em: db.fork() })
  return { ...view }
}

export const reviewView = Type.Object({ reviewId: id, lineId: id, rating: count, body: Type.String() })

export const viewOfReview = ({ id: reviewId, lineId, rating, body }: Review): Static<typeof reviewView> => ({
  reviewId,
  lineId,
  rating,
  body,
})
