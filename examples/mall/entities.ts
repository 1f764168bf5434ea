import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import { Type } from '@plinth/http'
import { c, type RowOf, table } from '@plinth/table'

/** Kinds of delivery. `virtual` goods are delivered with the payment. A `parcel` must be shipped. */
export const deliveries = ['virtual', 'parcel'] as const

export const amount = Type.Integer({ minimum: 0, description: 'Minor units of the currency.' })
export const kept = [
  'Records of sales must be kept. The user id no longer identifies a person.',
  '销售记录依法须保留。用户编号不再指向任何人。',
] as const

/** Goods for sale. Prices are minor units of the mall's currency. */
export const Goods = defineEntity({
  name: 'MallGoods',
  tableName: 'mall_goods',
  uniques: [{ properties: ['sku'] }],
  indexes: [{ properties: ['onSale', 'id'] }, { properties: ['demo'] }],
  properties: {
    id: column.primaryKey(),
    sku: column.text(64),
    name: column.text(200),
    price: column.bigint(),
    stock: column.integer(),
    /** The stock counts as low at this quantity or below. */
    lowStock: column.integer(),
    delivery: column.text(16).$type<(typeof deliveries)[number]>(),
    onSale: column.boolean(),
    demo: column.boolean(),
  },
})
export type Goods = InferEntity<typeof Goods>

/** A discount. Each customer can use it once, as long as some are left. */
export const Coupon = defineEntity({
  name: 'MallCoupon',
  tableName: 'mall_coupon',
  uniques: [{ properties: ['code'] }],
  indexes: [{ properties: ['demo'] }],
  properties: {
    id: column.primaryKey(),
    code: column.text(32),
    name: column.text(200),
    amount: column.bigint(),
    /** Minimum price of the goods in the order. */
    minAmount: column.bigint(),
    remaining: column.integer(),
    validUntil: column.timestamp(),
    demo: column.boolean(),
  },
})

/** Use of a coupon by an order. The row is deleted when the order is cancelled. */
export const CouponUse = defineEntity({
  name: 'MallCouponUse',
  tableName: 'mall_coupon_use',
  uniques: [{ properties: ['couponId', 'userId'] }, { properties: ['orderId'] }],
  properties: { id: column.primaryKey(), couponId: column.id(), userId: column.id(), orderId: column.id() },
})

/** `goodsAmount` = `couponAmount` + `creditAmount` + `cashAmount`. */
export const Order = table(
  'mall_order',
  {
    id: c.id(),
    orderNo: c.text(64, { min: 1 }),
    userId: c.reference('iam.user'),
    status: c.choice({
      unpaid: ['Unpaid', '待付款'],
      paid: ['Awaiting shipment', '待发货'],
      shipped: ['Shipped', '已发货'],
      refunded: ['Refunded', '已退款'],
      cancelled: ['Cancelled', '已取消'],
    }),
    currency: c.text(8),
    goodsAmount: c.bigint().view(amount),
    couponAmount: c.bigint().view(amount),
    /** Part of the price that is paid from a ledger account. One unit is worth one minor unit. */
    creditAmount: c.bigint().databaseDefault(0).view(amount),
    creditAsset: c.text(64).nullable(),
    /** Ledger hold of this part, until the order is paid or cancelled. */
    creditHoldId: c.reference('money.hold').nullable(),
    /** Part paid in money. */
    cashAmount: c.bigint().view(amount),
    /** Cash amount that was refunded. */
    refundedAmount: c.bigint().view(amount),
    /** Cash amount in pending refund requests. */
    refundOpen: c.bigint(),
    paymentProvider: c.text(32).nullable(),
    paymentNo: c.text(64).nullable(),
    createdAt: c.createdAt(),
    paidAt: c.time().nullable(),
  },
  {
    title: { one: ['Order', '订单'], many: ['Orders', '订单'] },
    owner: 'userId',
    erasure: { kept },
    personalTitle: ['Orders', '订单'],
    uniques: [{ columns: ['orderNo'] }],
    indexes: [
      ['userId', 'id'],
      ['userId', 'status', 'id'],
      ['status', 'id'],
      ['status', 'createdAt'],
    ],
  },
)
export type Order = RowOf<typeof Order.columns>

/** Goods of an order, as they were at the time of the order. */
export const OrderLine = defineEntity({
  name: 'MallOrderLine',
  tableName: 'mall_order_line',
  indexes: [{ properties: ['orderId', 'id'] }, { properties: ['goodsId'] }],
  properties: {
    id: column.primaryKey(),
    orderId: column.id(),
    goodsId: column.id(),
    sku: column.text(64),
    name: column.text(200),
    delivery: column.text(16).$type<(typeof deliveries)[number]>(),
    price: column.bigint(),
    quantity: column.integer(),
    amount: column.bigint(),
  },
})
export type OrderLine = InferEntity<typeof OrderLine>

/** The first paid order of each customer. */
export const FirstOrder = defineEntity({
  name: 'MallFirstOrder',
  tableName: 'mall_first_order',
  uniques: [{ properties: ['userId'] }],
  properties: { id: column.primaryKey(), userId: column.id(), orderNo: column.text(64) },
})

export const Refund = table(
  'mall_refund',
  {
    id: c.id(),
    refundNo: c.text(64),
    orderId: c.reference(Order),
    orderNo: c.text(64),
    userId: c.reference('iam.user'),
    amount: c.bigint().view(amount),
    reason: c.text(200),
    status: c.choice({
      pending: ['Awaiting decision', '待处理'],
      refunded: ['Refunded', '已退款'],
      rejected: ['Rejected', '已拒绝'],
    }),
    createdAt: c.createdAt(),
    decidedAt: c.time().nullable(),
    /** Name of the operator at the time of the decision. */
    decidedBy: c.text(128).nullable(),
  },
  {
    title: { one: ['Refund', '退款'], many: ['Refunds', '退款'] },
    owner: 'userId',
    erasure: { kept },
    personalTitle: ['Refunds', '退款'],
    unexported: ['decidedBy'],
    uniques: [{ columns: ['refundNo'] }],
    indexes: [
      ['orderId', 'id'],
      ['orderNo', 'id'],
      ['status', 'id'],
    ],
  },
)
export type Refund = RowOf<typeof Refund.columns>

/** A review by a customer of goods that the customer has bought. There is one review per order line. */
export const Review = defineEntity({
  name: 'MallReview',
  tableName: 'mall_review',
  uniques: [{ properties: ['lineId'] }],
  indexes: [{ properties: ['goodsId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    lineId: column.id(),
    goodsId: column.id(),
    userId: column.id(),
    rating: column.integer(),
    body: column.text(500),
    /** True if the event `review-reward` was published for this review. */
    rewarded: column.boolean(),
    createdAt: column.timestamp(),
    updatedAt: column.timestamp(),
  },
})
export type Review = InferEntity<typeof Review>

export const entities = [Goods, Coupon, CouponUse, Order.entity, OrderLine, FirstOrder, Refund.entity, Review]
