import { defineChangeSet } from '@plinth/migrations'

export const createTable = defineChangeSet({
  id: '0001-create-table',
  up: ({ schema, type }) => [
    schema
      .createTable('sample_name')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('owner_id', type.id, (c) => c.notNull())
      .addColumn('name', type.text(80), (c) => c.notNull())
      .addColumn('note', type.text(200), (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
    schema.createIndex('sample_name_owner_id_id_index').on('sample_name').columns(['owner_id', 'id']),
  ],
})
