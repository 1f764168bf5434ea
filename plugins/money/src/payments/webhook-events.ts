import { webhookEventType } from '@plinth/events'
import { Type, text } from '@plinth/http'
import { bilingual } from '@plinth/kernel'
import { paymentRefunded, paymentSucceeded } from './contract.ts'
import { permissionCodes } from './declarations.ts'

const amount = Type.Integer({ minimum: 1, description: 'Minor units of the asset.' })
const order = { outTradeNo: text, provider: text, scene: text, asset: text, amount }
const permission = permissionCodes.paymentView
const ownerOf = ({ userId }: { readonly userId?: number }) => ({ userId })

/** Payments that other programs can receive. */
export const webhookEvents = {
  'payment.succeeded': webhookEventType({
    event: paymentSucceeded,
    title: bilingual('Payment received', '支付成功'),
    permission,
    schema: Type.Object(order),
    dataOf: ({ outTradeNo, provider, scene, asset, amount }) => ({ outTradeNo, provider, scene, asset, amount }),
    ownerOf,
  }),
  'payment.refunded': webhookEventType({
    event: paymentRefunded,
    title: bilingual('Payment refunded', '支付已退款'),
    permission,
    schema: Type.Object({ ...order, refundNo: text, refundedAmount: amount }),
    dataOf: ({ userId: _, ...refund }) => refund,
    ownerOf,
  }),
}
