import { defineChangeSet } from '@plinth/migrations'

/** Adds the scheduled time of an event. */
export const scheduleEvents = defineChangeSet({
  id: '0004-schedule-events',
  up: ({ schema, type }) => [schema.alterTable('outbox_event').addColumn('not_before', type.timestamp)],
})
