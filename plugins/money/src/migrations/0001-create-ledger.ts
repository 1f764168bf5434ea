import { defineChangeSet } from '@plinth/migrations'

export const createLedger = defineChangeSet({
  id: '0001-create-ledger',
  up: ({ schema, type }) => [
    schema
      .createTable('money_account')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('owner_type', type.text(32), (c) => c.notNull())
      .addColumn('owner_id', type.text(64), (c) => c.notNull())
      .addColumn('asset', type.text(64), (c) => c.notNull())
      .addColumn('role', type.text(16), (c) => c.notNull())
      .addColumn('available', type.bigint, (c) => c.notNull())
      .addColumn('frozen', type.bigint, (c) => c.notNull())
      .addColumn('version', type.bigint, (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('created_at', type.bigint, (c) => c.notNull())
      .addColumn('updated_at', type.bigint, (c) => c.notNull()),
    schema
      .createIndex('money_account_owner_type_owner_id_asset_unique')
      .unique()
      .on('money_account')
      .columns(['owner_type', 'owner_id', 'asset']),
    schema.createIndex('money_account_asset_id_index').on('money_account').columns(['asset', 'id']),

    schema
      .createTable('money_journal')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('idem_hash', type.text(64), (c) => c.notNull())
      .addColumn('idem_key', type.text(255), (c) => c.notNull())
      .addColumn('fingerprint', type.text(64), (c) => c.notNull())
      .addColumn('action', type.text(16), (c) => c.notNull())
      .addColumn('kind', type.text(64), (c) => c.notNull())
      .addColumn('ref_type', type.text(64))
      .addColumn('ref_id', type.text(128))
      .addColumn('parent_id', type.id)
      .addColumn('actor', type.text(128))
      .addColumn('reason', type.text(255))
      .addColumn('occurred_at', type.bigint, (c) => c.notNull())
      .addColumn('created_at', type.bigint, (c) => c.notNull()),
    schema.createIndex('money_journal_idem_hash_unique').unique().on('money_journal').column('idem_hash'),
    schema.createIndex('money_journal_ref_type_ref_id_index').on('money_journal').columns(['ref_type', 'ref_id']),
    schema.createIndex('money_journal_parent_id_index').on('money_journal').column('parent_id'),

    schema
      .createTable('money_entry')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('journal_id', type.id, (c) => c.notNull())
      .addColumn('account_id', type.id, (c) => c.notNull())
      .addColumn('asset', type.text(64))
      .addColumn('seq', type.bigint)
      .addColumn('d_available', type.bigint, (c) => c.notNull())
      .addColumn('d_frozen', type.bigint, (c) => c.notNull())
      .addColumn('available_after', type.bigint)
      .addColumn('frozen_after', type.bigint)
      .addColumn('kind', type.text(64), (c) => c.notNull())
      .addColumn('month_key', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.bigint, (c) => c.notNull()),
    schema.createIndex('money_entry_account_id_seq_unique').unique().on('money_entry').columns(['account_id', 'seq']),
    schema.createIndex('money_entry_journal_id_index').on('money_entry').column('journal_id'),
    schema.createIndex('money_entry_account_id_id_index').on('money_entry').columns(['account_id', 'id']),
    schema.createIndex('money_entry_asset_id_index').on('money_entry').columns(['asset', 'id']),
    schema
      .createIndex('money_entry_account_id_month_key_kind_index')
      .on('money_entry')
      .columns(['account_id', 'month_key', 'kind']),

    schema
      .createTable('money_hold')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('account_id', type.id, (c) => c.notNull())
      .addColumn('amount', type.bigint, (c) => c.notNull())
      .addColumn('captured', type.bigint, (c) => c.notNull())
      .addColumn('released', type.bigint, (c) => c.notNull())
      .addColumn('state', type.text(16), (c) => c.notNull())
      .addColumn('expires_at', type.bigint, (c) => c.notNull())
      .addColumn('journal_id', type.id, (c) => c.notNull())
      .addColumn('created_at', type.bigint, (c) => c.notNull()),
    schema.createIndex('money_hold_journal_id_index').on('money_hold').column('journal_id'),
    schema.createIndex('money_hold_account_id_state_id_index').on('money_hold').columns(['account_id', 'state', 'id']),
    schema.createIndex('money_hold_state_expires_at_id_index').on('money_hold').columns(['state', 'expires_at', 'id']),
  ],
})
