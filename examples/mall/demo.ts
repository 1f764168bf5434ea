import type { Database } from '@plinth/database'
import type { CleanupPreview, Clock, QuickstartCleanup } from '@plinth/kernel'
import { Coupon, Goods, OrderLine } from './entities.ts'

const goods = [
  { sku: 'DEMO-TEA', name: 'Green tea, 250 g', price: 4_500, stock: 100, delivery: 'parcel' },
  { sku: 'DEMO-CUP', name: 'Cup with a lid', price: 9_900, stock: 40, delivery: 'parcel' },
  { sku: 'DEMO-POT', name: 'Tea pot', price: 25_900, stock: 10, delivery: 'parcel' },
  { sku: 'DEMO-COURSE', name: 'Tea course, video', price: 19_900, stock: 20, delivery: 'virtual' },
] as const
const coupon = { code: 'DEMO-WELCOME', name: '10.00 off 50.00', amount: 1_000, minAmount: 5_000, remaining: 1_000 }
const validMs = 365 * 86_400_000

/**
 * Adds demo goods and a coupon, unless there already are demo goods.
 * @returns number of added goods
 */
export function seedDemo(db: Database, clock: Pick<Clock, 'now'>): Promise<number> {
  return db.transactional(async (em) => {
    if ((await em.count(Goods, { demo: true })) > 0) return 0
    const row = (one: (typeof goods)[number]) => ({ id: db.newId(), ...one, lowStock: 5, onSale: true, demo: true })
    await em.insertMany(Goods, goods.map(row))
    const validUntil = new Date(clock.now() + validMs)
    await em.insert(Coupon, { id: db.newId(), ...coupon, validUntil, demo: true })
    return goods.length
  })
}

/**
 * Returns the demo data that an operator may remove. Orders of customers for demo goods block the removal. If the demo
 * coupon was used for other goods, only a foreign key protects it: the transaction then restores everything.
 */
export function demoCleanup(db: Database): QuickstartCleanup {
  return {
    displayName: { en: 'Mall', 'zh-CN': '商城' },
    dataType: 'demo-goods',
    async preview(): Promise<CleanupPreview> {
      const em = db.fork()
      const demoGoods = (await em.find(Goods, { demo: true }, { fields: ['id'] })).map(({ id }) => id)
      const ordered = demoGoods.length === 0 ? 0 : await em.count(OrderLine, { goodsId: { $in: demoGoods } })
      return {
        targets: [
          { type: 'goods', displayName: { en: 'Demo goods', 'zh-CN': '演示商品' }, count: demoGoods.length },
          {
            type: 'coupons',
            displayName: { en: 'Demo coupons', 'zh-CN': '演示优惠券' },
            count: await em.count(Coupon, { demo: true }),
          },
        ],
        blockers: [
          {
            code: 'real-orders',
            message: {
              en: 'Customers have ordered demo goods. Their orders still use these goods.',
              'zh-CN': '已有客户订购演示商品，相关订单仍在使用这些商品。',
            },
            count: ordered,
          },
        ],
      }
    },
    async execute(signal) {
      const em = db.fork()
      const coupons = await em.nativeDelete(Coupon, { demo: true })
      signal.throwIfAborted()
      return { coupons, goods: await em.nativeDelete(Goods, { demo: true }) }
    },
  }
}
