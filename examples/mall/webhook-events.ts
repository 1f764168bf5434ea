import { orderPaid, orderRefunded, orderStatusChanged, webhookEventType } from '@plinth/events'
import { Type, text } from '@plinth/http'
import { bilingual } from '@plinth/kernel'
import { viewOrders, viewRefunds } from './declarations.ts'

const amount = Type.Integer({ minimum: 0, description: 'Minor units of the currency of the order.' })
const ownerOf = ({ userId }: { readonly userId: number }) => ({ userId })

/** Events of orders that other programs can receive. */
export const webhookEvents = {
  'order.paid': webhookEventType({
    event: orderPaid,
    title: bilingual('Order paid', '订单已支付'),
    permission: viewOrders.code,
    schema: Type.Object({ orderNo: text, cashAmount: amount, currency: text }),
    dataOf: ({ orderNo, cashAmount, currency }) => ({ orderNo, cashAmount, currency }),
    ownerOf,
  }),
  'order.refunded': webhookEventType({
    event: orderRefunded,
    title: bilingual('Order refunded', '订单已退款'),
    permission: viewRefunds.code,
    schema: Type.Object({ orderNo: text, refundNo: text, refundAmount: amount, orderCashAmount: amount }),
    dataOf: ({ userId: _, ...refund }) => refund,
    ownerOf,
  }),
  'order.status_changed': webhookEventType({
    event: orderStatusChanged,
    title: bilingual('Status of an order changed', '订单状态变更'),
    permission: viewOrders.code,
    schema: Type.Object({ orderNo: text, status: text }),
    dataOf: ({ orderNo, status }) => ({ orderNo, status }),
    ownerOf,
  }),
}
