import { defineChangeSet } from '@plinth/migrations'

export const indexFilters = defineChangeSet({
  id: '0003-index-filters',
  up: ({ schema }) => [
    schema.createIndex('async_task_type_status_id_index').on('async_task').columns(['type', 'status', 'id']),
    schema.dropIndex('async_task_owner_id_status_index').on('async_task'),
    schema.createIndex('async_task_owner_id_status_id_index').on('async_task').columns(['owner_id', 'status', 'id']),
  ],
})
