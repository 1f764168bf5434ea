import { defineChangeSet } from '@plinth/migrations'

/** Adds the amounts that owners owe. */
export const recordDebts = defineChangeSet({
  id: '0003-record-debts',
  up: ({ schema, type }) => [
    schema.alterTable('money_account').addColumn('owed', type.bigint, (c) => c.notNull().defaultTo(0)),
    schema
      .createTable('money_debt')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('account_id', type.id, (c) => c.notNull())
      .addColumn('idem_hash', type.text(64), (c) => c.notNull())
      .addColumn('fingerprint', type.text(64), (c) => c.notNull())
      .addColumn('kind', type.text(64), (c) => c.notNull())
      .addColumn('counter', type.text(64), (c) => c.notNull())
      .addColumn('ref_type', type.text(64))
      .addColumn('ref_id', type.text(128))
      .addColumn('journal_id', type.id)
      .addColumn('deducted', type.bigint, (c) => c.notNull())
      .addColumn('shortfall', type.bigint, (c) => c.notNull())
      .addColumn('owed', type.bigint, (c) => c.notNull())
      .addColumn('recovery', type.text(16), (c) => c.notNull())
      .addColumn('actor', type.text(128))
      .addColumn('reason', type.text(255))
      .addColumn('created_at', type.bigint, (c) => c.notNull()),
    schema.createIndex('money_debt_idem_hash_unique').unique().on('money_debt').column('idem_hash'),
    schema.createIndex('money_debt_account_id_id_index').on('money_debt').columns(['account_id', 'id']),
  ],
})
