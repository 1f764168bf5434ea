import { defineChangeSet } from '@plinth/migrations'

/** Adds claims on held points, points that refunds borrowed from other sources, and daily totals of returned points. */
export const claimSources = defineChangeSet({
  id: '0005-claim-sources',
  up: ({ schema, type }) => [
    schema.alterTable('points_source').addColumn('claimed', type.bigint, (c) => c.notNull().defaultTo(0)),
    schema.alterTable('points_order_reward').addColumn('claimed', type.bigint, (c) => c.notNull().defaultTo(0)),
    schema.alterTable('points_reversal').addColumn('claimed', type.bigint, (c) => c.notNull().defaultTo(0)),
    schema
      .createTable('points_substitute')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('source_id', type.id, (c) => c.notNull())
      .addColumn('lender_id', type.id, (c) => c.notNull())
      .addColumn('units', type.bigint, (c) => c.notNull()),
    schema.createIndex('points_substitute_source_id_id_index').on('points_substitute').columns(['source_id', 'id']),
    schema.alterTable('points_day').addColumn('returned', type.bigint, (c) => c.notNull().defaultTo(0)),
  ],
})
