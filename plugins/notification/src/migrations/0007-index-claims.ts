import { defineChangeSet } from '@plinth/migrations'

/** Retries that were cut off are looked for before each retry, among all rows that were ever sent again. */
export const indexClaims = defineChangeSet({
  id: '0007-index-claims',
  up: ({ schema }) => [
    schema
      .createIndex('notification_send_log_status_claimed_until_index')
      .on('notification_send_log')
      .columns(['status', 'claimed_until']),
  ],
})
