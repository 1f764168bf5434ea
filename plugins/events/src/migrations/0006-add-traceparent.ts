import { defineChangeSet } from '@plinth/migrations'

/** Position in the trace in which an event was published (W3C Trace Context). */
export const addTraceparent = defineChangeSet({
  id: '0006-add-traceparent',
  up: ({ schema, type }) => [schema.alterTable('outbox_event').addColumn('traceparent', type.text(55))],
})
