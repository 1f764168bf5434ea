import { defineChangeSet } from '@plinth/migrations'

export const indexEventOrder = defineChangeSet({
  id: '0002-index-turns',
  up: ({ schema }) => [
    schema.createIndex('outbox_event_status_next_at_id_index').on('outbox_event').columns(['status', 'next_at', 'id']),
    schema.dropIndex('outbox_event_status_next_at_index').on('outbox_event'),
    schema.createIndex('outbox_event_status_id_index').on('outbox_event').columns(['status', 'id']),
    schema.createIndex('outbox_event_type_id_index').on('outbox_event').columns(['type', 'id']),
  ],
})
