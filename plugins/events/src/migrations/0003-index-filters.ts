import { defineChangeSet } from '@plinth/migrations'

export const indexFilters = defineChangeSet({
  id: '0003-index-filters',
  up: ({ schema }) => [
    schema.createIndex('outbox_event_type_status_id_index').on('outbox_event').columns(['type', 'status', 'id']),
    schema.createIndex('outbox_event_stream_key_id_index').on('outbox_event').columns(['stream_key', 'id']),
    schema.createIndex('outbox_event_status_stream_key_index').on('outbox_event').columns(['status', 'stream_key']),
  ],
})
