import { defineChangeSet } from '@plinth/migrations'

export const scheduleEvents = defineChangeSet({
  id: '0004-schedule-events',
  up: ({ schema, type }) => [schema.alterTable('outbox_event').addColumn('not_before', type.timestamp)],
})
