import { defineChangeSet } from '@plinth/migrations'

/**
 * Adds an index that finds old messages without a time of sending. With the former one, each step of the purge sorted all
 * such messages.
 */
export const indexKeptMessages = defineChangeSet({
  id: '0012-index-kept-messages',
  up: ({ schema }) => {
    const table = 'notification_message'
    return [
      schema
        .createIndex(`${table}_not_before_created_at_id_index`)
        .on(table)
        .columns(['not_before', 'created_at', 'id']),
      schema.dropIndex(`${table}_not_before_id_index`).on(table),
    ]
  },
})
