import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { localizedOf } from '@plinth/table'
import { CouponUse, FirstOrder, kept, Order, OrderLine, Refund, Review } from './entities.ts'

const reason = localizedOf(kept)

/**
 * Personal data in the tables of the mall. When a user is erased, reviews and coupons are removed, and records of sales
 * stay.
 */
export const mallTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, Review, { title: bilingual('Product reviews', '商品评价'), owner: 'user_id', erasure: 'removed' }),
  personalTable(db, CouponUse, {
    title: bilingual('Used coupons', '已用优惠券'),
    owner: 'user_id',
    erasure: 'removed',
  }),
  personalTable(db, FirstOrder, { title: bilingual('First order', '首单'), owner: 'user_id', erasure: 'removed' }),
  personalTable(db, OrderLine, {
    title: bilingual('Goods of orders', '订单商品'),
    owner: { column: 'order_id', through: 'mall_order', key: 'id', owner: 'user_id' },
    erasure: 'kept',
    reason,
  }),
  ...Refund.personalTables(db),
  personalTable(db, Refund.entity, {
    title: bilingual('Refunds that the user decided', '用户处理的退款'),
    owner: { username: 'decided_by' },
    omit: ['userId', 'orderId', 'orderNo', 'refundNo', 'reason'],
    erasure: 'anonymised',
    set: { decidedBy: null },
    reason,
  }),
  ...Order.personalTables(db),
]
