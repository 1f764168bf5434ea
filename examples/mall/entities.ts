import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

/** Kinds of delivery. `virtual` goods are delivered with the payment. A `parcel` must be shipped. */
export const deliveries = ['virtual', 'parcel'] as const
export const orderStatuses = ['unpaid', 'paid', 'shipped', 'refunded', 'cancelled'] as const
export const refundStatuses = ['pending', 'refunded', 'rejected'] as const

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
export const Order = defineEntity({
  name: 'MallOrder',
  tableName: 'mall_order',
  uniques: [{ properties: ['orderNo'] }],
  indexes: [
    { properties: ['userId', 'id'] },
    { properties: ['userId', 'status', 'id'] },
    { properties: ['status', 'id'] },
    { properties: ['status', 'createdAt'] },
  ],
  properties: {
    id: column.primaryKey(),
    orderNo: column.text(64),
    userId: column.id(),
    status: column.text(16).$type<(typeof orderStatuses)[number]>(),
    currency: column.text(8),
    goodsAmount: column.bigint(),
    couponAmount: column.bigint(),
    /** Part of the price that is paid from a ledger account. One unit is worth one minor unit. */
    creditAmount: column.bigint().default(0),
    creditAsset: column.text(64).nullable(),
    /** Ledger hold of this part, until the order is paid or cancelled. */
    creditHoldId: column.id().nullable(),
    /** Part paid in money. */
    cashAmount: column.bigint(),
    /** Cash amount that was refunded. */
    refundedAmount: column.bigint(),
    /** Cash amount in pending refund requests. */
    refundOpen: column.bigint(),
    paymentProvider: column.text(32).nullable(),
    paymentNo: column.text(64).nullable(),
    createdAt: column.timestamp(),
    paidAt: column.timestamp().nullable(),
  },
})
export type Order = InferEntity<typeof Order>

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

export const Refund = defineEntity({
  name: 'MallRefund',
  tableName: 'mall_refund',
  uniques: [{ properties: ['refundNo'] }],
  indexes: [{ properties: ['orderId', 'id'] }, { properties: ['status', 'id'] }],
  properties: {
    id: column.primaryKey(),
    refundNo: column.text(64),
    orderId: column.id(),
    orderNo: column.text(64),
    userId: column.id(),
    amount: column.bigint(),
    reason: column.text(200),
    status: column.text(16).$type<(typeof refundStatuses)[number]>(),
    createdAt: column.timestamp(),
    decidedAt: column.timestamp().nullable(),
    /** Name of the operator at the time of the decision. */
    decidedBy: column.text(128).nullable(),
  },
})
export type Refund = InferEntity<typeof Refund>

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

export const entities = [Goods, Coupon, CouponUse, Order, OrderLine, FirstOrder, Refund, Review]
