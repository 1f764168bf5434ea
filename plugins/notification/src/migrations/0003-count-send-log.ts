import { defineChangeSet } from '@plinth/migrations'
import { sql } from 'kysely'

/** Adds stored counts for the summary, and an index for the filters by channel and by state together. */
export const countSendLog = defineChangeSet({
  id: '0003-count-send-log',
  up: ({ schema, type }) => [
    schema
      .createTable('notification_send_log_count')
      .addColumn('kind', type.text(16), (c) => c.primaryKey())
      .addColumn('total', type.bigint, (c) => c.notNull()),
    schema
      .createIndex('notification_send_log_channel_status_restorable_id_index')
      .on('notification_send_log')
      .columns(['channel', 'status', 'restorable', 'id']),
    schema.dropIndex('notification_send_log_created_at_index').on('notification_send_log'),
    schema
      .createIndex('notification_send_log_created_at_id_index')
      .on('notification_send_log')
      .columns(['created_at', 'id']),
  ],
  data: async ({ db }) => {
    await sql`insert into notification_send_log_count (kind, total)
      select kind, count(*) from (
        select case when status = 'failed' and restorable then 'retryable' else status end as kind
        from notification_send_log
      ) as log group by kind`.execute(db)
  },
})
