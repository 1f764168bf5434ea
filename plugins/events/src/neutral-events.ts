import { Type } from '@plinth/http'
import { event } from './contract.ts'

/*
 * Facts that several plugins speak of without knowing each other (decision A9, document 1 "Neutral task event kinds").
 * Who owns the fact checks it before publishing it. Amounts are minor units of the currency, times milliseconds since the
 * epoch. Publish all events of one order under the key `order:{orderNo}`.
 */

const userId = Type.Integer({ minimum: 1 })
const amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const number = Type.String({ minLength: 1, maxLength: 64 })

/** `cashAmount` is what was paid in money, without points and coupons. */
export const orderPaid = event(
  'commerce.order.paid',
  Type.Object({
    orderNo: number,
    userId,
    cashAmount: amount,
    currency: Type.String({ pattern: '^[A-Z]{3,8}$' }),
    paidAt: Type.Integer({ minimum: 0 }),
  }),
)

/** One refund of an order; `orderCashAmount` is what the order had cost in money. */
export const orderRefunded = event(
  'commerce.order.refunded',
  Type.Object({ refundNo: number, orderNo: number, userId, refundAmount: amount, orderCashAmount: amount }),
)

export const profileCompletion = event('profile-completion', Type.Object({ userId }))

/** A user's first paid order. */
export const firstOrder = event('first-order', Type.Object({ userId, orderNo: number }))

/** A review that deserves a reward. */
export const reviewReward = event('review-reward', Type.Object({ userId, reviewId: number }))
