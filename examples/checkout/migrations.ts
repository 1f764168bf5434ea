import { defineChangeSet } from '@plinth/migrations'

export const createCheckout = defineChangeSet({
  id: '0001-create-checkout',
  up: ({ schema, type }) => [
    schema
      .createTable('checkout_offer')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(64), (c) => c.notNull())
      .addColumn('name', type.text(200), (c) => c.notNull())
      .addColumn('price', type.bigint, (c) => c.notNull())
      .addColumn('demo', type.boolean, (c) => c.notNull()),
    schema.createIndex('checkout_offer_code_unique').unique().on('checkout_offer').column('code'),
    schema.createIndex('checkout_offer_demo_index').on('checkout_offer').column('demo'),
    schema
      .createTable('checkout_sale')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('order_no', type.text(64), (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('offer_id', type.id, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('delivered_at', type.timestamp)
      .addForeignKeyConstraint('checkout_sale_offer_id_foreign', ['offer_id'], 'checkout_offer', ['id']),
    schema.createIndex('checkout_sale_order_no_unique').unique().on('checkout_sale').column('order_no'),
    schema.createIndex('checkout_sale_user_id_id_index').on('checkout_sale').columns(['user_id', 'id']),
    schema.createIndex('checkout_sale_offer_id_index').on('checkout_sale').column('offer_id'),
  ],
})

/**
 * Ensures that two open sales never have the same amount of the same token, so that each payment belongs to one sale.
 */
export const addSaleKeys = defineChangeSet({
  id: '0002-tell-sales-apart',
  up: ({ schema, type }) => [
    schema.alterTable('checkout_sale').addColumn('open_terms', type.text(255)),
    schema.createIndex('checkout_sale_open_terms_unique').unique().on('checkout_sale').column('open_terms'),
  ],
})

/**
 * Reserves the amount of a closed sale for some time, so that a late payment does not match the order of another buyer.
 */
export const storeClosing = defineChangeSet({
  id: '0003-store-closing',
  up: ({ schema, type }) => [schema.alterTable('checkout_sale').addColumn('closed_at', type.timestamp)],
})
