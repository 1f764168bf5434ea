import { defineChangeSet } from '@plinth/migrations'

export const createReconciliation = defineChangeSet({
  id: '0002-create-reconciliation',
  up: ({ schema, type }) => [
    schema
      .createTable('money_reconciliation')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('asset', type.text(64))
      .addColumn('state', type.text(16), (c) => c.notNull())
      .addColumn('requested_by', type.text(128), (c) => c.notNull())
      .addColumn('task_id', type.id)
      .addColumn('accounts', type.bigint, (c) => c.notNull())
      .addColumn('journals', type.bigint, (c) => c.notNull())
      .addColumn('findings', type.bigint, (c) => c.notNull())
      .addColumn('created_at', type.bigint, (c) => c.notNull())
      .addColumn('finished_at', type.bigint),

    schema
      .createTable('money_finding')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('reconciliation_id', type.id, (c) => c.notNull())
      .addColumn('rule', type.text(32), (c) => c.notNull())
      .addColumn('account_id', type.id)
      .addColumn('journal_id', type.id)
      .addColumn('expected', type.bigint, (c) => c.notNull())
      .addColumn('found', type.bigint, (c) => c.notNull())
      .addColumn('created_at', type.bigint, (c) => c.notNull()),
    schema
      .createIndex('money_finding_reconciliation_id_id_index')
      .on('money_finding')
      .columns(['reconciliation_id', 'id']),

    schema.createIndex('money_hold_state_id_index').on('money_hold').columns(['state', 'id']),
  ],
})
