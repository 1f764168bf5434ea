import { type Database, findPage, insertMissingRows, type PageWindow } from '@plinth/database'
import { type EventRef, type Events, virtualStockLow, virtualStockOut } from '@plinth/events'
import type { Clock } from '@plinth/kernel'
import { businessError } from './declarations.ts'
import { Coupon, CouponUse, Goods } from './entities.ts'

/** A requested quantity of one product. */
export interface WantedGoods {
  readonly goodsId: number
  /** 1 or more. */
  readonly quantity: number
}

interface CatalogueDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Goods and coupons with their remaining quantity. Each change of a quantity is one conditional update in the
 * transaction of the order, so nothing is sold twice. The updates are in the order of the ids, so two orders never
 * deadlock.
 */
export class Catalogue {
  readonly #parts: CatalogueDependencies

  constructor(parts: CatalogueDependencies) {
    this.#parts = parts
  }

  /** Lists the goods on sale. */
  list(window: PageWindow) {
    return findPage(this.#parts.db.fork(), Goods, { onSale: true }, window)
  }

  add(goods: Omit<Goods, 'id' | 'demo' | 'onSale'>): Promise<number> {
    const { db } = this.#parts
    return db.fork().insert(Goods, { id: db.newId(), ...goods, onSale: true, demo: false })
  }

  /**
   * Removes goods from the stock. Publishes an event if the stock of virtual goods is low, because no person handles
   * these goods and would notice it.
   * @returns the goods with their quantities, ordered by id
   * @throws BusinessError "404" `mall.goods-unknown`, "409" `mall.stock-short`, "400" `mall.goods-repeated`
   */
  async take(wishes: readonly WantedGoods[]): Promise<readonly (Goods & { readonly quantity: number })[]> {
    const { db } = this.#parts
    if (new Set(wishes.map(({ goodsId }) => goodsId)).size < wishes.length)
      throw businessError('goods-repeated', { data: { field: 'lines' } })
    const taken: (Goods & { quantity: number })[] = []
    for (const { goodsId, quantity } of [...wishes].sort((a, b) => a.goodsId - b.goodsId)) {
      const found = await db.execute(
        'update mall_goods set stock = stock - ? where id = ? and on_sale = ? and stock >= ?',
        [quantity, goodsId, true, quantity],
      )
      const goods = await db.fork().findOne(Goods, { id: goodsId })
      if (goods === null || !goods.onSale) throw businessError('goods-unknown', { data: { goodsId, field: 'lines' } })
      if (found === 0) {
        const { name, stock } = goods
        throw businessError('stock-short', { params: { name, stock }, data: { goodsId, stock, field: 'lines' } })
      }
      await this.#tellShortage(goods, quantity)
      taken.push({ ...goods, quantity })
    }
    return taken
  }

  async putBack(lines: readonly WantedGoods[]): Promise<void> {
    for (const { goodsId, quantity } of [...lines].sort((a, b) => a.goodsId - b.goodsId)) {
      await this.#parts.db.execute('update mall_goods set stock = stock + ? where id = ?', [quantity, goodsId])
    }
  }

  /**
   * Uses one of the coupons for an order.
   *
   * @param amount price of the goods of the order
   * @returns the discount, at most the amount
   * @throws BusinessError "409" `mall.coupon-unusable`, `mall.coupon-used`
   */
  async takeCoupon(code: string, order: { id: number; userId: number; amount: number }): Promise<number> {
    const { db, clock } = this.#parts
    const found = await db.execute(
      `update mall_coupon set remaining = remaining - 1
       where code = ? and remaining > 0 and min_amount <= ? and valid_until > ?`,
      [code, order.amount, new Date(clock.now())],
    )
    if (found === 0) throw businessError('coupon-unusable', { data: { field: 'couponCode' } })
    const coupon = await db.fork().findOneOrFail(Coupon, { code })
    const taken = { id: db.newId(), couponId: coupon.id, userId: order.userId, orderId: order.id }
    await insertMissingRows(db, CouponUse, ['couponId', 'userId'], [taken])
    const use = await db.fork().findOneOrFail(CouponUse, { couponId: coupon.id, userId: order.userId })
    if (use.orderId !== order.id) throw businessError('coupon-used', { data: { field: 'couponCode' } })
    return Math.min(coupon.amount, order.amount)
  }

  /** Makes the coupon of a cancelled order usable again. */
  async putCouponBack(orderId: number): Promise<void> {
    const { db } = this.#parts
    const use = await db.fork().findOne(CouponUse, { orderId })
    if (use === null) return
    await db.execute('update mall_coupon set remaining = remaining + 1 where id = ?', [use.couponId])
    await db.execute('delete from mall_coupon_use where id = ?', [use.id])
  }

  async #tellShortage({ sku, name, stock, lowStock, delivery }: Goods, taken: number): Promise<void> {
    if (delivery !== 'virtual') return
    const fact = { sku, name, stock }
    const publish = (ref: EventRef<typeof fact>) => this.#parts.events.publish(ref, fact, { key: `mall.goods:${sku}` })
    if (stock === 0) await publish(virtualStockOut)
    else if (stock <= lowStock && stock + taken > lowStock) await publish(virtualStockLow)
  }
}
