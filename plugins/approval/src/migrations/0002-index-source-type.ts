import { defineChangeSet } from '@plinth/migrations'

export const indexSourceType = defineChangeSet({
  id: '0002-index-source-type',
  up: ({ schema }) => [
    schema.createIndex('approval_instance_source_type_id_index').on('approval_instance').columns(['source_type', 'id']),
  ],
})
