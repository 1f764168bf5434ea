import { defineChangeSet } from '@plinth/migrations'

/** Events that are not to be delivered before a moment. They are found by the index of status and time. */
export const scheduleEvents = defineChangeSet({
  id: '0004-schedule-events',
  up: ({ schema, type }) => [schema.alterTable('outbox_event').addColumn('not_before', type.timestamp)],
})
