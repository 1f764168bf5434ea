import { defineChangeSet } from '@plinth/migrations'

/** Adds daily totals, and the last ledger entry that they include. */
export const countDays = defineChangeSet({
  id: '0003-count-days',
  up: ({ schema, type }) => [
    schema
      .createTable('points_day')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('asset', type.text(64), (c) => c.notNull())
      .addColumn('day', type.text(10), (c) => c.notNull())
      .addColumn('granted', type.bigint, (c) => c.notNull())
      .addColumn('consumed', type.bigint, (c) => c.notNull())
      .addColumn('reversed', type.bigint, (c) => c.notNull())
      .addColumn('expired', type.bigint, (c) => c.notNull()),
    schema.createIndex('points_day_asset_day_unique').unique().on('points_day').columns(['asset', 'day']),
    schema
      .createTable('points_day_position')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('asset', type.text(64), (c) => c.notNull())
      .addColumn('entry_id', type.id, (c) => c.notNull()),
    schema.createIndex('points_day_position_asset_unique').unique().on('points_day_position').column('asset'),
  ],
})
