import { defineChangeSet } from '@plinth/migrations'

const review = 'web3_settlement_review_log'
const callback = 'web3_payment_callback_log'
const retry = 'web3_settlement_retry'
const audit = 'web3_settlement_audit_log'
const counts = 'web3_settlement_audit_count'
const position = 'web3_settlement_audit_position'

export const createWeb3Settlement = defineChangeSet({
  id: '0001-create-web3-settlement',
  up: ({ schema, type }) => [
    schema
      .createTable(review)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('out_trade_no', type.text(64), (c) => c.notNull())
      .addColumn('chain_name', type.text(64))
      .addColumn('transaction_hash', type.text(66))
      .addColumn('log_index', type.integer)
      .addColumn('action', type.text(16), (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('state', type.text(16), (c) => c.notNull())
      .addColumn('candidate', type.boolean, (c) => c.notNull())
      .addColumn('retryable', type.boolean, (c) => c.notNull())
      .addColumn('reasons', type.json, (c) => c.notNull())
      .addColumn('plan_snapshot', type.json, (c) => c.notNull())
      .addColumn('review_fingerprint', type.text(64), (c) => c.notNull())
      .addColumn('fingerprint_version', type.integer, (c) => c.notNull())
      .addColumn('remark', type.text(500))
      .addColumn('source_log_id', type.id)
      .addColumn('actor_user_id', type.id)
      .addColumn('permission_snapshot', type.json, (c) => c.notNull())
      .addColumn('retry_at', type.timestamp)
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('trace_id', type.text(128))
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex(`${review}_out_trade_no_id_index`).on(review).columns(['out_trade_no', 'id']),
    schema
      .createIndex(`${review}_status_action_created_at_index`)
      .on(review)
      .columns(['status', 'action', 'created_at']),
    schema.createIndex(`${review}_retry_at_index`).on(review).column('retry_at'),
    schema.createIndex(`${review}_retryable_id_index`).on(review).columns(['retryable', 'id']),
    schema.createIndex(`${review}_created_at_index`).on(review).column('created_at'),

    schema
      .createTable(callback)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('out_trade_no', type.text(64), (c) => c.notNull())
      .addColumn('review_log_id', type.id, (c) => c.notNull())
      .addColumn('started_by', type.text(16), (c) => c.notNull())
      .addColumn('outcome', type.text(16), (c) => c.notNull())
      .addColumn('reasons', type.json, (c) => c.notNull())
      .addColumn('chain_name', type.text(64))
      .addColumn('transaction_hash', type.text(66))
      .addColumn('event_key', type.text(255))
      .addColumn('review_fingerprint', type.text(64), (c) => c.notNull())
      .addColumn('actor_user_id', type.id)
      .addColumn('trace_id', type.text(128))
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex(`${callback}_out_trade_no_id_index`).on(callback).columns(['out_trade_no', 'id']),
    schema.createIndex(`${callback}_created_at_index`).on(callback).column('created_at'),

    schema
      .createTable(retry)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('out_trade_no', type.text(64), (c) => c.notNull())
      .addColumn('review_fingerprint', type.text(64), (c) => c.notNull())
      .addColumn('attempts', type.integer, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex(`${retry}_out_trade_no_review_fingerprint_unique`)
      .unique()
      .on(retry)
      .columns(['out_trade_no', 'review_fingerprint']),
    schema.createIndex(`${retry}_updated_at_index`).on(retry).column('updated_at'),

    schema
      .createTable(audit)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('out_trade_no', type.text(64), (c) => c.notNull())
      .addColumn('chain_name', type.text(64))
      .addColumn('transaction_hash', type.text(66))
      .addColumn('risk_reasons', type.json, (c) => c.notNull())
      .addColumn('risk_level', type.text(8), (c) => c.notNull())
      .addColumn('risky', type.boolean, (c) => c.notNull())
      .addColumn('suggested_action', type.text(24), (c) => c.notNull())
      .addColumn('retryable', type.boolean)
      .addColumn('needs_fund_review', type.boolean)
      .addColumn('chain_reorg_suspected', type.boolean, (c) => c.notNull())
      .addColumn('confirmation_snapshot', type.json, (c) => c.notNull())
      .addColumn('handling_status', type.text(16), (c) => c.notNull())
      .addColumn('handled_by', type.text(128))
      .addColumn('handled_at', type.timestamp)
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex(`${audit}_out_trade_no_id_index`).on(audit).columns(['out_trade_no', 'id']),
    schema.createIndex(`${audit}_risky_index`).on(audit).columns(['handling_status', 'risky', 'id']),
    schema
      .createIndex(`${audit}_suggested_action_index`)
      .on(audit)
      .columns(['handling_status', 'suggested_action', 'id']),
    schema.createIndex(`${audit}_retryable_index`).on(audit).columns(['handling_status', 'retryable', 'id']),
    schema
      .createIndex(`${audit}_needs_fund_review_index`)
      .on(audit)
      .columns(['handling_status', 'needs_fund_review', 'id']),
    schema.createIndex(`${audit}_created_at_index`).on(audit).column('created_at'),

    schema
      .createTable(counts)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('handling_status', type.text(16), (c) => c.notNull())
      .addColumn('risk_level', type.text(8), (c) => c.notNull())
      .addColumn('chain_reorg_suspected', type.boolean, (c) => c.notNull())
      .addColumn('total', type.bigint, (c) => c.notNull()),
    schema
      .createIndex(`${counts}_kind_unique`)
      .unique()
      .on(counts)
      .columns(['handling_status', 'risk_level', 'chain_reorg_suspected']),

    schema
      .createTable(position)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('walk', type.text(140), (c) => c.notNull())
      .addColumn('after_id', type.id, (c) => c.notNull()),
    schema.createIndex(`${position}_walk_unique`).unique().on(position).column('walk'),
  ],
})
