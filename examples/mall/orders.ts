import { type Database, insertMissingRows, selectionOf } from '@plinth/database'
import {
  type EventRef,
  type Events,
  firstOrder,
  orderPaid,
  orderPendingFulfilment,
  orderStatusChanged,
} from '@plinth/events'
import { type Clock, isBusinessError } from '@plinth/kernel'
import type { PaymentOrder, Payments } from '@plinth/money/payments'
import type { Site } from '@plinth/site'
import type { Catalogue, WantedGoods } from './catalogue.ts'
import type { Credit } from './credit.ts'
import { businessError } from './declarations.ts'
import { FirstOrder, Order, OrderLine } from './entities.ts'

interface OrderDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly clock: Pick<Clock, 'now'>
  readonly site: Pick<Site, 'dayOf'>
  readonly catalogue: Catalogue
  readonly credit: Credit
  readonly payments: Pick<Payments, 'create' | 'settle' | 'find' | 'close'>
  readonly settings: () => { readonly currency: string; readonly testPayments: boolean }
}

/** The content of an order before it is placed. */
interface Basket {
  readonly lines: readonly WantedGoods[]
  readonly couponCode?: string
  /** Units of credit with which the customer pays a part of the order. */
  readonly credit?: number
}

export interface OrderWithLines {
  readonly order: Order
  readonly lines: readonly OrderLine[]
}

/** Provider and number of a payment. */
interface Payment {
  readonly provider: string
  readonly paymentNo: string
}

/** Number of orders that are read together when unpaid orders are cancelled. */
const readTogether = 100

/** Value of `scene` in the payment orders of the mall. It selects the handler that completes a paid order. */
export const paymentScene = 'mall.order'

/**
 * Orders from their creation to the shipment. Every change of the status is one conditional update, so only one of two
 * concurrent callers succeeds. The event of a change is published in the same transaction. All events of an order have
 * the same key, so they are delivered in order.
 */
export class Orders {
  readonly #parts: OrderDependencies

  constructor(parts: OrderDependencies) {
    this.#parts = parts
  }

  /**
   * Creates an order and reserves the goods and the coupon. An order without a cash amount is paid immediately.
   * @throws BusinessError the errors of `Catalogue.take`, `Catalogue.takeCoupon` and `Credit.hold`
   */
  create(userId: number, { lines: wishes, couponCode, credit: units = 0 }: Basket): Promise<string> {
    const { db, clock, site, catalogue, credit, settings } = this.#parts
    return db.transactional(async (em) => {
      const goods = await catalogue.take(wishes)
      const id = db.newId()
      const goodsAmount = goods.reduce((sum, { price, quantity }) => sum + price * quantity, 0)
      const couponAmount =
        couponCode === undefined ? 0 : await catalogue.takeCoupon(couponCode, { id, userId, amount: goodsAmount })
      const now = new Date(clock.now())
      const orderNo = `M${site.dayOf(now).replaceAll('-', '')}${id.toString(36).toUpperCase()}`
      const paid = await credit.hold({ orderNo, userId }, units, goodsAmount - couponAmount)
      const order = {
        id,
        orderNo,
        userId,
        status: 'unpaid' as const,
        currency: settings().currency,
        goodsAmount,
        couponAmount,
        ...paid,
        cashAmount: goodsAmount - couponAmount - paid.creditAmount,
        refundedAmount: 0,
        refundOpen: 0,
        paymentProvider: null,
        paymentNo: null,
        createdAt: now,
        paidAt: null,
      }
      await em.insert(Order.entity, order)
      const lines = goods.map(({ id: goodsId, sku, name, delivery, price, quantity }) => ({
        id: db.newId(),
        orderId: id,
        goodsId,
        sku,
        name,
        delivery,
        price,
        quantity,
        amount: price * quantity,
      }))
      await em.insertMany(OrderLine, lines)
      await this.#publish(orderStatusChanged, { orderNo: order.orderNo, userId, status: 'unpaid' }, order.orderNo)
      if (order.cashAmount === 0) await this.#paid(order.orderNo, { provider: 'none', paymentNo: order.orderNo })
      return order.orderNo
    })
  }

  /**
   * Pays an order of the user through the test provider, without money.
   * @throws BusinessError "403" `mall.test-payments-off`, "404" `mall.order-unknown`, "409" `mall.order-not-unpaid`
   */
  async payForTest(userId: number, orderNo: string): Promise<void> {
    const { db, payments, settings } = this.#parts
    if (!settings().testPayments) throw businessError('test-payments-off')
    const { order } = await this.get(orderNo, userId)
    const { status, cashAmount: amount } = order
    if (status !== 'unpaid') throw businessError('order-not-unpaid', { params: { status }, data: { status } })
    const terms = { outTradeNo: orderNo, scene: paymentScene, userId, asset: order.currency.toLowerCase(), amount }
    await payments.create({ ...terms, provider: 'test' })
    const transactionHash = `T${db.newId()}`
    const { outcome } = await payments.settle({ outTradeNo: orderNo, type: 'test', transactionHash })
    if (outcome === 'skipped') {
      const { status } = (await this.get(orderNo)).order
      throw businessError('order-not-unpaid', { params: { status }, data: { status } })
    }
  }

  /**
   * Completes the order in the transaction that settles its payment order. @throws BusinessError "409"
   * `mall.order-not-unpaid`
   */
  async paid({ outTradeNo, provider, transactionHash }: PaymentOrder): Promise<void> {
    await this.#paid(outTradeNo, { provider, paymentNo: transactionHash ?? outTradeNo })
  }

  /** @throws BusinessError "404" `mall.order-unknown`, "409" `mall.order-not-unpaid` */
  async cancel(userId: number, orderNo: string): Promise<void> {
    await this.get(orderNo, userId)
    await this.#parts.db.transactional(() => this.#cancel(orderNo))
  }

  /** Marks a paid order as shipped. @throws BusinessError "404" `mall.order-unknown`, "409" `mall.order-not-paid` */
  ship(orderNo: string): Promise<void> {
    const { db } = this.#parts
    return db.transactional(async () => {
      const { order } = await this.#moved(
        orderNo,
        () => db.execute("update mall_order set status = 'shipped' where order_no = ? and status = 'paid'", [orderNo]),
        'order-not-paid',
      )
      await this.#publish(orderStatusChanged, { orderNo, userId: order.userId, status: 'shipped' }, orderNo)
    })
  }

  /**
   * Cancels unpaid orders that were created before a time.
   *
   * @returns number of cancelled orders
   */
  async cancelUnpaid(before: Date, signal: AbortSignal): Promise<number> {
    const { db } = this.#parts
    let cancelled = 0
    while (!signal.aborted) {
      const old = await db
        .fork()
        .find(
          Order.entity,
          { status: 'unpaid', createdAt: { $lt: before } },
          { orderBy: { createdAt: 'asc' }, limit: readTogether },
        )
      for (const { orderNo } of old) {
        if (signal.aborted) return cancelled
        // The cancellation is rejected if the order was paid meanwhile.
        const work = db.transactional(() => this.#cancelIfUnpaid(orderNo))
        cancelled += await work.catch((error: unknown) => {
          if (isBusinessError(error)) return 0
          throw error
        })
      }
      if (old.length < readTogether) break
    }
    return cancelled
  }

  /**
   * Returns an order.
   * @param userId owner of the order; any owner if omitted
   * @throws BusinessError "404" `mall.order-unknown`
   */
  async find(orderNo: string, userId?: number): Promise<Order> {
    const where = { orderNo, ...(userId === undefined ? {} : { userId }) }
    const order = await this.#parts.db.fork().findOne(Order.entity, where)
    if (order === null) throw businessError('order-unknown')
    return selectionOf(Order.entity).of(order)
  }

  /** As `find`, with the lines of the order. */
  async get(orderNo: string, userId?: number): Promise<OrderWithLines> {
    const order = await this.find(orderNo, userId)
    const orderBy = { id: 'asc' } as const
    return { order, lines: await this.#parts.db.fork().find(OrderLine, { orderId: order.id }, { orderBy }) }
  }

  async #paid(orderNo: string, { provider, paymentNo }: Payment): Promise<void> {
    const { db, clock } = this.#parts
    const paidAt = clock.now()
    const { order, lines } = await this.#moved(
      orderNo,
      () =>
        db.execute(
          `update mall_order set status = 'paid', paid_at = ?, payment_provider = ?, payment_no = ?
           where order_no = ? and status = 'unpaid'`,
          [new Date(paidAt), provider, paymentNo, orderNo],
        ),
      'order-not-unpaid',
    )
    await this.#parts.credit.take(order)
    const { userId, cashAmount, currency } = order
    await this.#publish(orderPaid, { orderNo, userId, cashAmount, currency, paidAt }, orderNo)
    await this.#publish(orderStatusChanged, { orderNo, userId, status: 'paid' }, orderNo)
    if (lines.some(({ delivery }) => delivery === 'parcel')) {
      await this.#publish(orderPendingFulfilment, { orderNo }, orderNo)
    }
    if (await this.#isFirst(order)) await this.#publish(firstOrder, { userId, orderNo }, orderNo)
  }

  /**
   * True if this is the first paid order of the customer. If two orders are paid at the same time, exactly one of them
   * is the first.
   */
  async #isFirst({ userId, orderNo }: Order): Promise<boolean> {
    const { db } = this.#parts
    await insertMissingRows(db, FirstOrder, 'userId', [{ id: db.newId(), userId, orderNo }])
    return (await db.fork().findOneOrFail(FirstOrder, { userId })).orderNo === orderNo
  }

  async #cancel(orderNo: string): Promise<void> {
    await this.#moved(orderNo, () => this.#cancelIfUnpaid(orderNo), 'order-not-unpaid')
  }

  async #cancelIfUnpaid(orderNo: string): Promise<number> {
    const { db, catalogue, credit, payments } = this.#parts
    // The payment order is locked first and the order of the mall second, as in a settlement. Otherwise both could
    // deadlock.
    if ((await payments.find(orderNo))?.status === 'pending') await payments.close(orderNo)
    const moved = await db.execute(
      "update mall_order set status = 'cancelled' where order_no = ? and status = 'unpaid'",
      [orderNo],
    )
    if (moved === 0) return 0
    const { order, lines } = await this.get(orderNo)
    await catalogue.putBack(lines)
    await catalogue.putCouponBack(order.id)
    await credit.release(order)
    await this.#publish(orderStatusChanged, { orderNo, userId: order.userId, status: 'cancelled' }, orderNo)
    return moved
  }

  /**
   * Returns the order after a conditional update. If the update changed nothing, throws an error with the order status.
   */
  async #moved(
    orderNo: string,
    move: () => Promise<number>,
    otherwise: 'order-not-unpaid' | 'order-not-paid',
  ): Promise<OrderWithLines> {
    const moved = await move()
    const found = await this.get(orderNo)
    const { status } = found.order
    if (moved === 0) throw businessError(otherwise, { params: { status }, data: { status } })
    return found
  }

  async #publish<Fact>(ref: EventRef<Fact>, fact: Fact, orderNo: string): Promise<void> {
    await this.#parts.events.publish(ref, fact, { key: `order:${orderNo}` })
  }
}
