import { defineChangeSet } from '@plinth/migrations'

/** Adds an index for retryable sends by channel and time. */
export const indexRetryable = defineChangeSet({
  id: '0004-index-retryable',
  up: ({ schema }) => [
    schema
      .createIndex('notification_send_log_retryable_of_channel_index')
      .on('notification_send_log')
      .columns(['channel', 'status', 'restorable', 'created_at', 'id']),
  ],
})
