import { defineChangeSet } from '@plinth/migrations'

export const createMall = defineChangeSet({
  id: '0001-create-mall',
  up: ({ schema, type }) => [
    schema
      .createTable('mall_goods')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('sku', type.text(64), (c) => c.notNull())
      .addColumn('name', type.text(200), (c) => c.notNull())
      .addColumn('price', type.bigint, (c) => c.notNull())
      .addColumn('stock', type.integer, (c) => c.notNull())
      .addColumn('low_stock', type.integer, (c) => c.notNull())
      .addColumn('delivery', type.text(16), (c) => c.notNull())
      .addColumn('on_sale', type.boolean, (c) => c.notNull())
      .addColumn('demo', type.boolean, (c) => c.notNull()),
    schema.createIndex('mall_goods_sku_unique').unique().on('mall_goods').column('sku'),
    schema.createIndex('mall_goods_on_sale_id_index').on('mall_goods').columns(['on_sale', 'id']),
    schema.createIndex('mall_goods_demo_index').on('mall_goods').column('demo'),
    schema
      .createTable('mall_coupon')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(32), (c) => c.notNull())
      .addColumn('name', type.text(200), (c) => c.notNull())
      .addColumn('amount', type.bigint, (c) => c.notNull())
      .addColumn('min_amount', type.bigint, (c) => c.notNull())
      .addColumn('remaining', type.integer, (c) => c.notNull())
      .addColumn('valid_until', type.timestamp, (c) => c.notNull())
      .addColumn('demo', type.boolean, (c) => c.notNull()),
    schema.createIndex('mall_coupon_code_unique').unique().on('mall_coupon').column('code'),
    schema.createIndex('mall_coupon_demo_index').on('mall_coupon').column('demo'),
    schema
      .createTable('mall_order')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('order_no', type.text(64), (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('currency', type.text(8), (c) => c.notNull())
      .addColumn('goods_amount', type.bigint, (c) => c.notNull())
      .addColumn('coupon_amount', type.bigint, (c) => c.notNull())
      .addColumn('cash_amount', type.bigint, (c) => c.notNull())
      .addColumn('refunded_amount', type.bigint, (c) => c.notNull())
      .addColumn('refund_open', type.bigint, (c) => c.notNull())
      .addColumn('payment_provider', type.text(32))
      .addColumn('payment_no', type.text(64))
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('paid_at', type.timestamp),
    schema.createIndex('mall_order_order_no_unique').unique().on('mall_order').column('order_no'),
    schema.createIndex('mall_order_user_id_id_index').on('mall_order').columns(['user_id', 'id']),
    schema.createIndex('mall_order_user_id_status_id_index').on('mall_order').columns(['user_id', 'status', 'id']),
    schema.createIndex('mall_order_status_id_index').on('mall_order').columns(['status', 'id']),
    schema.createIndex('mall_order_status_created_at_index').on('mall_order').columns(['status', 'created_at']),
    schema
      .createTable('mall_coupon_use')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('coupon_id', type.id, (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('order_id', type.id, (c) => c.notNull())
      .addForeignKeyConstraint('mall_coupon_use_coupon_id_foreign', ['coupon_id'], 'mall_coupon', ['id']),
    schema
      .createIndex('mall_coupon_use_coupon_id_user_id_unique')
      .unique()
      .on('mall_coupon_use')
      .columns(['coupon_id', 'user_id']),
    schema.createIndex('mall_coupon_use_order_id_unique').unique().on('mall_coupon_use').column('order_id'),
    schema
      .createTable('mall_order_line')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('order_id', type.id, (c) => c.notNull())
      .addColumn('goods_id', type.id, (c) => c.notNull())
      .addColumn('sku', type.text(64), (c) => c.notNull())
      .addColumn('name', type.text(200), (c) => c.notNull())
      .addColumn('delivery', type.text(16), (c) => c.notNull())
      .addColumn('price', type.bigint, (c) => c.notNull())
      .addColumn('quantity', type.integer, (c) => c.notNull())
      .addColumn('amount', type.bigint, (c) => c.notNull())
      .addForeignKeyConstraint('mall_order_line_order_id_foreign', ['order_id'], 'mall_order', ['id'])
      .addForeignKeyConstraint('mall_order_line_goods_id_foreign', ['goods_id'], 'mall_goods', ['id']),
    schema.createIndex('mall_order_line_order_id_id_index').on('mall_order_line').columns(['order_id', 'id']),
    schema.createIndex('mall_order_line_goods_id_index').on('mall_order_line').column('goods_id'),
    schema
      .createTable('mall_first_order')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('order_no', type.text(64), (c) => c.notNull()),
    schema.createIndex('mall_first_order_user_id_unique').unique().on('mall_first_order').column('user_id'),
    schema
      .createTable('mall_refund')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('refund_no', type.text(64), (c) => c.notNull())
      .addColumn('order_id', type.id, (c) => c.notNull())
      .addColumn('order_no', type.text(64), (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('amount', type.bigint, (c) => c.notNull())
      .addColumn('reason', type.text(200), (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('decided_at', type.timestamp)
      .addColumn('decided_by', type.text(128))
      .addForeignKeyConstraint('mall_refund_order_id_foreign', ['order_id'], 'mall_order', ['id']),
    schema.createIndex('mall_refund_refund_no_unique').unique().on('mall_refund').column('refund_no'),
    schema.createIndex('mall_refund_order_id_id_index').on('mall_refund').columns(['order_id', 'id']),
    schema.createIndex('mall_refund_status_id_index').on('mall_refund').columns(['status', 'id']),
    schema
      .createTable('mall_review')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('line_id', type.id, (c) => c.notNull())
      .addColumn('goods_id', type.id, (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('rating', type.integer, (c) => c.notNull())
      .addColumn('body', type.text(500), (c) => c.notNull())
      .addColumn('rewarded', type.boolean, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addForeignKeyConstraint('mall_review_line_id_foreign', ['line_id'], 'mall_order_line', ['id']),
    schema.createIndex('mall_review_line_id_unique').unique().on('mall_review').column('line_id'),
    schema.createIndex('mall_review_goods_id_id_index').on('mall_review').columns(['goods_id', 'id']),
  ],
})

export const payWithCredit = defineChangeSet({
  id: '0002-pay-with-credit',
  up: ({ schema, type }) => [
    schema.alterTable('mall_order').addColumn('credit_amount', type.bigint, (c) => c.notNull().defaultTo(0)),
    schema.alterTable('mall_order').addColumn('credit_asset', type.text(64)),
    schema.alterTable('mall_order').addColumn('credit_hold_id', type.id),
  ],
})

export const indexRefunds = defineChangeSet({
  id: '0003-index-refunds',
  up: ({ schema }) => [
    schema.createIndex('mall_refund_order_no_id_index').on('mall_refund').columns(['order_no', 'id']),
  ],
})
