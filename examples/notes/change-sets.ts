import { defineChangeSet } from '@plinth/migrations'

export const createNote = defineChangeSet({
  id: '0001-create-note',
  up: ({ schema, type }) => [
    schema
      .createTable('example_note')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('owner_id', type.id, (c) => c.notNull())
      .addColumn('body', type.text(500), (c) => c.notNull())
      .addColumn('announced', type.boolean, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('example_note_owner_id_id_index').on('example_note').columns(['owner_id', 'id']),
    schema.createIndex('example_note_created_at_index').on('example_note').column('created_at'),
  ],
})
