import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

/** What can be bought. */
export const Offer = defineEntity({
  name: 'CheckoutOffer',
  tableName: 'checkout_offer',
  uniques: [{ properties: ['code'] }],
  indexes: [{ properties: ['demo'] }],
  properties: {
    id: column.primaryKey(),
    code: column.text(64),
    name: column.text(200),
    /** Hundredths of the currency of the token. */
    price: column.bigint(),
    demo: column.boolean(),
  },
})
export type Offer = InferEntity<typeof Offer>

/** An offer that somebody buys. What has to be paid, and whether it was, is said by the payment order of this number. */
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
     * Chain, token, receiver and amount, while a payment may belong to this sale: until it is paid, and for some time after it was
     * closed. No other sale has the same.
     */
    openTerms: column.text(255).nullable(),
    /** When its payment order was found closed; null: it is open or paid. */
    closedAt: column.timestamp().nullable(),
    /** When the buyer got it; null: it is not paid. */
    deliveredAt: column.timestamp().nullable(),
  },
})
export type Sale = InferEntity<typeof Sale>

export const entities = [Offer, Sale]
