import { defineChangeSet } from '@plinth/migrations'

export const createMemberPoints = defineChangeSet({
  id: '0001-create-member-points',
  up: ({ schema, type }) => [
    schema
      .createTable('points_rule')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(64), (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('type', type.text(16), (c) => c.notNull())
      .addColumn('asset', type.text(64), (c) => c.notNull())
      .addColumn('enabled', type.boolean, (c) => c.notNull())
      .addColumn('config', type.json, (c) => c.notNull())
      .addColumn('display_title', type.json)
      .addColumn('display_description', type.json)
      .addColumn('active_from', type.bigint, (c) => c.notNull())
      .addColumn('active_to', type.bigint, (c) => c.notNull())
      .addColumn('updated_by', type.id)
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('points_rule_code_version_unique').unique().on('points_rule').columns(['code', 'version']),
    schema.createIndex('points_rule_active_to_code_unique').unique().on('points_rule').columns(['active_to', 'code']),
    schema
      .createTable('points_source')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('account_id', type.id, (c) => c.notNull())
      .addColumn('user_id', type.id)
      .addColumn('asset', type.text(64), (c) => c.notNull())
      .addColumn('source_type', type.text(32), (c) => c.notNull())
      .addColumn('source_id', type.text(255), (c) => c.notNull())
      .addColumn('granted', type.bigint, (c) => c.notNull())
      .addColumn('remaining', type.bigint, (c) => c.notNull())
      .addColumn('held', type.bigint, (c) => c.notNull())
      .addColumn('consumed', type.bigint, (c) => c.notNull())
      .addColumn('reversed', type.bigint, (c) => c.notNull())
      .addColumn('expired', type.bigint, (c) => c.notNull())
      .addColumn('expires_at', type.bigint, (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('journal_id', type.id, (c) => c.notNull())
      .addColumn('rule_code', type.text(64))
      .addColumn('rule_version', type.integer)
      .addColumn('created_at', type.bigint, (c) => c.notNull()),
    schema
      .createIndex('points_source_source_type_source_id_unique')
      .unique()
      .on('points_source')
      .columns(['source_type', 'source_id']),
    schema
      .createIndex('points_source_account_id_status_expires_at_id_index')
      .on('points_source')
      .columns(['account_id', 'status', 'expires_at', 'id']),
    schema
      .createIndex('points_source_asset_status_expires_at_id_index')
      .on('points_source')
      .columns(['asset', 'status', 'expires_at', 'id']),
    schema
      .createTable('points_source_use')
      .addColumn('journal_id', type.id, (c) => c.notNull())
      .addColumn('source_id', type.id, (c) => c.notNull())
      .addColumn('kind', type.text(16), (c) => c.notNull())
      .addColumn('amount', type.bigint, (c) => c.notNull())
      .addColumn('hold_id', type.id)
      .addPrimaryKeyConstraint('points_source_use_pkey', ['journal_id', 'source_id', 'kind']),
    schema.createIndex('points_source_use_source_id_index').on('points_source_use').column('source_id'),
    schema.createIndex('points_source_use_hold_id_index').on('points_source_use').column('hold_id'),
    schema
      .createTable('points_order_reward')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('order_no', type.text(64), (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('asset', type.text(64), (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('paid_amount', type.bigint, (c) => c.notNull())
      .addColumn('refunded_amount', type.bigint, (c) => c.notNull())
      .addColumn('granted', type.bigint, (c) => c.notNull())
      .addColumn('reversed_target', type.bigint, (c) => c.notNull())
      .addColumn('deducted', type.bigint, (c) => c.notNull())
      .addColumn('shortfall', type.bigint, (c) => c.notNull())
      .addColumn('owed', type.bigint, (c) => c.notNull())
      .addColumn('recovered', type.bigint, (c) => c.notNull())
      .addColumn('source_id', type.id)
      .addColumn('journal_id', type.id)
      .addColumn('rule_code', type.text(64))
      .addColumn('rule_version', type.integer)
      .addColumn('rule_snapshot', type.json)
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('points_order_reward_order_no_unique').unique().on('points_order_reward').column('order_no'),
    schema
      .createIndex('points_order_reward_user_id_owed_id_index')
      .on('points_order_reward')
      .columns(['user_id', 'owed', 'id']),
    schema
      .createTable('points_reversal')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('refund_no', type.text(64), (c) => c.notNull())
      .addColumn('order_no', type.text(64), (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('refund_amount', type.bigint, (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('wanted', type.bigint, (c) => c.notNull())
      .addColumn('deducted', type.bigint, (c) => c.notNull())
      .addColumn('shortfall', type.bigint, (c) => c.notNull())
      .addColumn('journal_id', type.id)
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('points_reversal_refund_no_unique').unique().on('points_reversal').column('refund_no'),
    schema
      .createIndex('points_reversal_order_no_status_id_index')
      .on('points_reversal')
      .columns(['order_no', 'status', 'id']),
    schema
      .createTable('points_check_in')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('check_date', type.text(10), (c) => c.notNull())
      .addColumn('zone', type.text(64), (c) => c.notNull())
      .addColumn('consecutive_days', type.integer, (c) => c.notNull())
      .addColumn('points', type.bigint, (c) => c.notNull())
      .addColumn('journal_id', type.id)
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex('points_check_in_user_id_check_date_unique')
      .unique()
      .on('points_check_in')
      .columns(['user_id', 'check_date']),
    schema
      .createTable('points_expire_batch')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('asset', type.text(64), (c) => c.notNull())
      .addColumn('open_asset', type.text(64))
      .addColumn('as_of', type.bigint, (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('cursor_expires_at', type.bigint, (c) => c.notNull())
      .addColumn('cursor_id', type.bigint, (c) => c.notNull())
      .addColumn('scanned', type.bigint, (c) => c.notNull())
      .addColumn('expired', type.bigint, (c) => c.notNull())
      .addColumn('points', type.bigint, (c) => c.notNull())
      .addColumn('refused', type.bigint, (c) => c.notNull())
      .addColumn('holder', type.text(128))
      .addColumn('lease_until', type.bigint, (c) => c.notNull())
      .addColumn('started_at', type.timestamp, (c) => c.notNull())
      .addColumn('finished_at', type.timestamp),
    schema.createIndex('points_expire_batch_open_asset_unique').unique().on('points_expire_batch').column('open_asset'),
    schema.createIndex('points_expire_batch_asset_id_index').on('points_expire_batch').columns(['asset', 'id']),
  ],
})
