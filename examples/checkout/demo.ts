import type { Database } from '@plinth/database'
import type { CleanupPreview, QuickstartCleanup } from '@plinth/kernel'
import { Offer, Sale } from './entities.ts'

const offers = [
  { code: 'DEMO-EBOOK', name: 'Tea and its ways, e-book', price: 900 },
  { code: 'DEMO-COURSE', name: 'Tea course, video', price: 4_900 },
  { code: 'DEMO-SEAT', name: 'A seat at the tasting', price: 12_000 },
]

/**
 * Adds demo offers, unless there already are some.
 * @returns number of added offers
 */
export function seedDemo(db: Database): Promise<number> {
  return db.transactional(async (em) => {
    if ((await em.count(Offer, { demo: true })) > 0) return 0
    await em.insertMany(
      Offer,
      offers.map((one) => ({ id: db.newId(), ...one, demo: true })),
    )
    return offers.length
  })
}

/** Returns the demo data that an operator may remove. A demo offer with orders is not removed. */
export function demoCleanup(db: Database): QuickstartCleanup {
  return {
    displayName: { en: 'Checkout', 'zh-CN': '结账' },
    dataType: 'demo-offers',
    async preview(): Promise<CleanupPreview> {
      const em = db.fork()
      const demo = (await em.find(Offer, { demo: true }, { fields: ['id'] })).map(({ id }) => id)
      const ordered = demo.length === 0 ? 0 : await em.count(Sale, { offerId: { $in: demo } })
      return {
        targets: [{ type: 'offers', displayName: { en: 'Demo offers', 'zh-CN': '演示商品' }, count: demo.length }],
        blockers: [
          {
            code: 'real-orders',
            message: {
              en: 'Customers have ordered demo offers. Their orders still use these offers.',
              'zh-CN': '已有客户订购演示商品，相关订单仍在使用这些商品。',
            },
            count: ordered,
          },
        ],
      }
    },
    async execute() {
      return { offers: await db.fork().nativeDelete(Offer, { demo: true }) }
    },
  }
}
