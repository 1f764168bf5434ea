import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { CouponUse, FirstOrder, Order, OrderLine, Refund, Review } from './entities.ts'

const reason = bilingual(
  'Records of sales must be kept. The user id no longer identifies a person.',
  '销售记录依法须保留。用户编号不再指向任何人。',
)

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
  personalTable(db, Refund, {
    title: bilingual('Refunds', '退款'),
    owner: 'user_id',
    omit: ['decidedBy'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, Refund, {
    title: bilingual('Refunds that the user decided', '用户处理的退款'),
    owner: { username: 'decided_by' },
    omit: ['userId', 'orderId', 'orderNo', 'refundNo', 'reason'],
    erasure: 'anonymised',
    set: { decidedBy: null },
    reason,
  }),
  personalTable(db, Order, { title: bilingual('Orders', '订单'), owner: 'user_id', erasure: 'kept', reason }),
]
