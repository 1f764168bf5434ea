import { defineChangeSet } from '@plinth/migrations'

/** Adds the earliest delivery time. The index of status and time finds these events. */
export const scheduleEvents = defineChangeSet({
  id: '0004-schedule-events',
  up: ({ schema, type }) => [schema.alterTable('outbox_event').addColumn('not_before', type.timestamp)],
})
