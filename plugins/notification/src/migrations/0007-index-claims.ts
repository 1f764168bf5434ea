import { defineChangeSet } from '@plinth/migrations'

/** Adds an index that finds interrupted retries among all rows that were ever retried. */
export const indexClaims = defineChangeSet({
  id: '0007-index-claims',
  up: ({ schema }) => [
    schema
      .createIndex('notification_send_log_status_claimed_until_index')
      .on('notification_send_log')
      .columns(['status', 'claimed_until']),
  ],
})
