import { defineChangeSet } from '@plinth/migrations'

/** Adds indexes for the list of scheduled messages, and for removing old ones. */
export const indexScheduled = defineChangeSet({
  id: '0010-index-scheduled',
  up: ({ schema }) => {
    const table = 'notification_message'
    return [
      schema.createIndex(`${table}_state_not_before_id_index`).on(table).columns(['state', 'not_before', 'id']),
      schema.createIndex(`${table}_not_before_id_index`).on(table).columns(['not_before', 'id']),
    ]
  },
})
