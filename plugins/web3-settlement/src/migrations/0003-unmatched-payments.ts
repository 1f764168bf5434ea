import { defineChangeSet } from '@plinth/migrations'

const unmatched = 'web3_unmatched_payment'
const named = 'web3_named_transaction'

/** Adds payments that settle no order, and the transactions that orders name. */
export const storeUnmatchedPayments = defineChangeSet({
  id: '0003-unmatched-payments',
  up: ({ schema, type }) => [
    schema
      .createTable(unmatched)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('out_trade_no', type.text(64), (c) => c.notNull())
      .addColumn('kind', type.text(16), (c) => c.notNull())
      .addColumn('state', type.text(16), (c) => c.notNull())
      .addColumn('source', type.text(16), (c) => c.notNull())
      .addColumn('chain_name', type.text(64), (c) => c.notNull())
      .addColumn('transaction_hash', type.text(66), (c) => c.notNull())
      .addColumn('event_key', type.text(255), (c) => c.notNull())
      .addColumn('log_index', type.integer, (c) => c.notNull())
      .addColumn('log_ordinal', type.integer, (c) => c.notNull())
      .addColumn('block_number', type.bigint, (c) => c.notNull())
      .addColumn('token', type.text(42), (c) => c.notNull())
      .addColumn('receiver', type.text(42), (c) => c.notNull())
      .addColumn('payer', type.text(42), (c) => c.notNull())
      .addColumn('amount_raw', type.uint256, (c) => c.notNull())
      .addColumn('amount', type.bigint)
      .addColumn('actor_user_id', type.id)
      .addColumn('handled_by', type.id)
      .addColumn('handled_at', type.timestamp)
      .addColumn('reason', type.text(200))
      .addColumn('repayment_hash', type.text(66))
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex(`${unmatched}_order_transfer_unique`)
      .unique()
      .on(unmatched)
      .columns(['out_trade_no', 'chain_name', 'transaction_hash', 'log_ordinal']),
    schema
      .createIndex(`${unmatched}_transfer_index`)
      .on(unmatched)
      .columns(['chain_name', 'transaction_hash', 'log_ordinal']),
    schema.createIndex(`${unmatched}_state_id_index`).on(unmatched).columns(['state', 'id']),
    schema.createIndex(`${unmatched}_handled_at_index`).on(unmatched).column('handled_at'),
    schema
      .createTable(named)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('out_trade_no', type.text(64), (c) => c.notNull())
      .addColumn('transaction_hash', type.text(66), (c) => c.notNull())
      .addColumn('check_at', type.timestamp, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex(`${named}_out_trade_no_transaction_hash_unique`)
      .unique()
      .on(named)
      .columns(['out_trade_no', 'transaction_hash']),
    schema.createIndex(`${named}_check_at_id_index`).on(named).columns(['check_at', 'id']),
    schema.createIndex(`${named}_created_at_index`).on(named).column('created_at'),
  ],
})
