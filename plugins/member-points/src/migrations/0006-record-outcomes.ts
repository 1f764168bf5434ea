import { defineChangeSet } from '@plinth/migrations'

/** Records why an order got no points. Older orders have no outcome. */
export const recordOutcomes = defineChangeSet({
  id: '0006-record-outcomes',
  up: ({ schema, type }) => [schema.alterTable('points_order_reward').addColumn('outcome', type.text(16))],
})
