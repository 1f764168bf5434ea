import { defineChangeSet } from '@plinth/migrations'

/** The trace in which the event of a delivery was published. */
export const addTrace = defineChangeSet({
  id: '0002-add-trace',
  up: ({ schema, type }) => [
    schema.alterTable('webhook_delivery').addColumn('traceparent', type.text(55)),
    schema.alterTable('webhook_delivery').addColumn('trace_id', type.text(32)),
    schema.createIndex('webhook_delivery_trace_id_id_index').on('webhook_delivery').columns(['trace_id', 'id']),
  ],
})
