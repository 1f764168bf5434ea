import { type Database, selectionOf } from '@plinth/database'
import {
  afterSalesPendingReview,
  afterSalesStatusChanged,
  type EventRef,
  type Events,
  orderRefunded,
  orderStatusChanged,
} from '@plinth/events'
import type { Clock } from '@plinth/kernel'
import type { Payments } from '@plinth/money/payments'
import type { Credit } from './credit.ts'
import { businessError } from './declarations.ts'
import { type Order, Refund } from './entities.ts'
import type { Orders } from './orders.ts'

interface RefundDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly clock: Pick<Clock, 'now'>
  readonly orders: Orders
  readonly credit: Credit
  readonly payments: Pick<Payments, 'refund'>
}

/**
 * Refunds of orders. Customers request a refund, and operators with the permission decide. Pending and completed
 * refunds of an order never exceed its cash amount, even with concurrent requests. An order that was paid only with
 * credit is refunded as a whole, with the amount 0.
 */
export class Refunds {
  readonly #parts: RefundDependencies

  constructor(parts: RefundDependencies) {
    this.#parts = parts
  }

  /**
   * Requests a refund. `amount` is in minor units of the order's currency; 0 for an order that was paid only with
   * credit.
   * @throws BusinessError "400" `mall.refund-of-nothing`, "404" `mall.order-unknown`, "409" `mall.order-not-paid`,
   *   `mall.refund-exceeds-paid`, `mall.refund-asked`
   */
  request(userId: number, orderNo: string, requested: { amount: number; reason: string }): Promise<Refund> {
    const { db, clock, orders } = this.#parts
    const { amount, reason } = requested
    return db.transactional(async (em) => {
      const reserved = await db.execute(
        `update mall_order set refund_open = refund_open + ?
         where order_no = ? and user_id = ? and status in ('paid', 'shipped')
           and refunded_amount + refund_open + ? <= cash_amount${amount > 0 ? '' : ' and cash_amount = 0 and credit_amount > 0'}`,
        [amount, orderNo, userId, amount],
      )
      const order = await orders.find(orderNo, userId)
      if (reserved === 0) throw rejectedRequest(order, amount)
      // A request without money reserves nothing. Two concurrent requests cannot both reach this point, because each
      // first updates the row of the order.
      if (amount === 0 && (await em.count(Refund.entity, { orderId: order.id, status: 'pending' })) > 0) {
        throw businessError('refund-asked')
      }
      const id = db.newId()
      const refundNo = `R${id.toString(36).toUpperCase()}`
      const refund = {
        id,
        refundNo,
        orderId: order.id,
        orderNo,
        userId,
        amount,
        reason,
        status: 'pending' as const,
        createdAt: new Date(clock.now()),
        decidedAt: null,
        decidedBy: null,
      }
      await em.insert(Refund.entity, refund)
      await this.#tellStatus(refund)
      await this.#publish(afterSalesPendingReview, { afterSalesNo: refundNo, orderNo }, orderNo)
      return refund
    })
  }

  /**
   * Approves or declines a refund. When the whole cash amount is refunded, the order becomes `refunded` and the credit
   * is returned.
   * @param decidedBy name of the operator
   * @throws BusinessError "404" `mall.refund-unknown`, "409" `mall.refund-decided`
   */
  decide(refundNo: string, approve: boolean, decidedBy: string): Promise<Refund> {
    const { db, clock, orders, credit, payments } = this.#parts
    return db.transactional(async () => {
      const decided = await db.execute(
        `update mall_refund set status = ?, decided_at = ?, decided_by = ? where refund_no = ? and status = 'pending'`,
        [approve ? 'refunded' : 'rejected', new Date(clock.now()), decidedBy, refundNo],
      )
      const refund = await this.get(refundNo)
      const { amount, orderNo, userId } = refund
      if (decided === 0) {
        throw businessError('refund-decided', { params: { status: refund.status }, data: { status: refund.status } })
      }
      const paidBack = approve ? amount : 0
      if (paidBack > 0) await payments.refund({ outTradeNo: orderNo, refundNo, amount, reason: refund.reason })
      // The status is assigned first, because in MariaDB and MySQL each assignment uses the results of the earlier
      // ones.
      const status = approve ? "case when refunded_amount + ? = cash_amount then 'refunded' else status end" : 'status'
      await db.execute(
        `update mall_order set status = ${status}, refund_open = refund_open - ?, refunded_amount = refunded_amount + ?
         where id = ?`,
        [...(approve ? [paidBack] : []), amount, paidBack, refund.orderId],
      )
      await this.#tellStatus(refund)
      if (!approve) return refund
      const order = await orders.find(orderNo)
      if (paidBack > 0) {
        const fact = { refundNo, orderNo, userId, refundAmount: paidBack, orderCashAmount: order.cashAmount }
        await this.#publish(orderRefunded, fact, orderNo)
      }
      if (order.status === 'refunded') {
        await credit.giveBack(order)
        await this.#publish(orderStatusChanged, { orderNo, userId, status: 'refunded' }, orderNo)
      }
      return refund
    })
  }

  /** @throws BusinessError "404" `mall.refund-unknown` */
  async get(refundNo: string): Promise<Refund> {
    const refund = await this.#parts.db.fork().findOne(Refund.entity, { refundNo })
    if (refund === null) throw businessError('refund-unknown')
    return selectionOf(Refund.entity).of(refund)
  }

  async #tellStatus({ refundNo: afterSalesNo, orderNo, userId, status }: Refund): Promise<void> {
    await this.#publish(afterSalesStatusChanged, { afterSalesNo, orderNo, userId, status }, orderNo)
  }

  async #publish<Fact>(ref: EventRef<Fact>, fact: Fact, orderNo: string): Promise<void> {
    await this.#parts.events.publish(ref, fact, { key: `order:${orderNo}` })
  }
}

function rejectedRequest({ status, cashAmount, refundedAmount, refundOpen }: Order, amount: number) {
  if (status !== 'paid' && status !== 'shipped') {
    return businessError('order-not-paid', { params: { status }, data: { status } })
  }
  if (amount === 0) return businessError('refund-of-nothing', { data: { field: 'amount' } })
  const refundable = cashAmount - refundedAmount - refundOpen
  return businessError('refund-exceeds-paid', { params: { refundable }, data: { refundable, field: 'amount' } })
}
