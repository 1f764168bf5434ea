import { defineChangeSet } from '@plinth/migrations'

const table = 'web3_chain'

export const createChains = defineChangeSet({
  id: '0001-create-chains',
  up: ({ schema, type }) => [
    schema
      .createTable(table)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('name', type.text(64), (c) => c.notNull())
      .addColumn('chain_id', type.bigint, (c) => c.notNull())
      .addColumn('enabled', type.boolean, (c) => c.notNull())
      .addColumn('required_confirmations', type.integer)
      .addColumn('finality', type.text(16), (c) => c.notNull())
      .addColumn('max_head_lag_blocks', type.integer, (c) => c.notNull())
      .addColumn('explorer_transaction_url', type.text(500))
      .addColumn('providers', type.json, (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
    schema.createIndex(`${table}_name_unique`).unique().on(table).column('name'),
    schema.createIndex(`${table}_chain_id_unique`).unique().on(table).column('chain_id'),
  ],
})
