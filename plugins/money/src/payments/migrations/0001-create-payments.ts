import { defineChangeSet } from '@plinth/migrations'

export const createPayments = defineChangeSet({
  id: '0001-create-payments',
  up: ({ schema, type }) => [
    schema
      .createTable('money_payment_order')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('out_trade_no', type.text(64), (c) => c.notNull())
      .addColumn('fingerprint', type.text(64), (c) => c.notNull())
      .addColumn('provider', type.text(32), (c) => c.notNull())
      .addColumn('scene', type.text(64), (c) => c.notNull())
      .addColumn('user_id', type.id)
      .addColumn('asset', type.text(64), (c) => c.notNull())
      .addColumn('amount', type.bigint, (c) => c.notNull())
      .addColumn('chain_name', type.text(64))
      .addColumn('chain_id', type.bigint)
      .addColumn('token_contract', type.text(128))
      .addColumn('receiver', type.text(128))
      .addColumn('amount_raw', type.uint256)
      .addColumn('required_confirmations', type.integer)
      .addColumn('transaction_hash', type.text(128))
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('refunded_amount', type.bigint, (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.bigint, (c) => c.notNull())
      .addColumn('paid_at', type.bigint),
    schema
      .createIndex('money_payment_order_out_trade_no_unique')
      .unique()
      .on('money_payment_order')
      .column('out_trade_no'),
    schema.createIndex('money_payment_order_status_id_index').on('money_payment_order').columns(['status', 'id']),
    schema.createIndex('money_payment_order_provider_id_index').on('money_payment_order').columns(['provider', 'id']),
    schema
      .createIndex('money_payment_order_provider_status_id_index')
      .on('money_payment_order')
      .columns(['provider', 'status', 'id']),
    schema.createIndex('money_payment_order_user_id_id_index').on('money_payment_order').columns(['user_id', 'id']),
    schema
      .createIndex('money_payment_order_user_id_status_id_index')
      .on('money_payment_order')
      .columns(['user_id', 'status', 'id']),
    schema
      .createTable('money_payment_transaction')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('out_trade_no', type.text(64), (c) => c.notNull())
      .addColumn('type', type.text(32), (c) => c.notNull())
      .addColumn('transaction_hash', type.text(128), (c) => c.notNull())
      .addColumn('amount', type.bigint, (c) => c.notNull())
      .addColumn('event_key', type.text(255))
      .addColumn('chain_name', type.text(64))
      .addColumn('log_ordinal', type.integer)
      .addColumn('facts', type.json)
      .addColumn('created_at', type.bigint, (c) => c.notNull()),
    schema
      .createIndex('money_payment_transaction_payment_unique')
      .unique()
      .on('money_payment_transaction')
      .columns(['out_trade_no', 'transaction_hash', 'type']),
    schema
      .createIndex('money_payment_transaction_event_key_unique')
      .unique()
      .on('money_payment_transaction')
      .column('event_key'),
    schema
      .createIndex('money_payment_transaction_chain_event_unique')
      .unique()
      .on('money_payment_transaction')
      .columns(['chain_name', 'transaction_hash', 'log_ordinal']),
    schema
      .createIndex('money_payment_transaction_out_trade_no_id_index')
      .on('money_payment_transaction')
      .columns(['out_trade_no', 'id']),
    schema
      .createIndex('money_payment_transaction_type_id_index')
      .on('money_payment_transaction')
      .columns(['type', 'id']),
  ],
})
