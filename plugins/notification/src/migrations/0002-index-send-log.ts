import { defineChangeSet } from '@plinth/migrations'

/** Adds an index for each sort order and filter of the list. */
export const indexSendLog = defineChangeSet({
  id: '0002-index-send-log',
  up: ({ schema }) => [
    schema
      .createIndex('notification_send_log_channel_created_at_id_index')
      .on('notification_send_log')
      .columns(['channel', 'created_at', 'id']),
    schema
      .createIndex('notification_send_log_status_restorable_id_index')
      .on('notification_send_log')
      .columns(['status', 'restorable', 'id']),
  ],
})
