import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

/** An offer for sale. */
export const Offer = defineEntity({
  name: 'CheckoutOffer',
  tableName: 'checkout_offer',
  uniques: [{ properties: ['code'] }],
  indexes: [{ properties: ['demo'] }],
  properties: {
    id: column.primaryKey(),
    code: column.text(64),
    name: column.text(200),
    /** Price in hundredths of the token's currency. */
    price: column.bigint(),
    demo: column.boolean(),
  },
})
export type Offer = InferEntity<typeof Offer>

/** A sale of an offer. A payment order with the same number contains the amount and the payment status. */
export const Sale = defineEntity({
  name: 'CheckoutSale',
  tableName: 'checkout_sale',
  uniques: [{ properties: ['orderNo'] }, { properties: ['openTerms'] }],
  indexes: [{ properties: ['userId', 'id'] }, { properties: ['offerId'] }],
  properties: {
    id: column.primaryKey(),
    orderNo: column.text(64),
    userId: column.id(),
    offerId: column.id(),
    createdAt: column.timestamp(),
    /**
     * Chain, token, receiver and amount as one text. It is unique while a payment may belong to this sale: until the
     * sale is paid, and for some time after it was closed.
     */
    openTerms: column.text(255).nullable(),
    /** Time at which the payment order was found to be closed. Null while the order is open, and if it is paid. */
    closedAt: column.timestamp().nullable(),
    /** Time of the delivery. Null until the sale is paid. */
    deliveredAt: column.timestamp().nullable(),
  },
})
export type Sale = InferEntity<typeof Sale>

export const entities = [Offer, Sale]
