import { defineChangeSet } from '@plinth/migrations'

const table = 'approval_instance'

export const createApproval = defineChangeSet({
  id: '0001-create-approval',
  up: ({ schema, type }) => [
    schema
      .createTable(table)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('workflow', type.text(64), (c) => c.notNull())
      .addColumn('action', type.text(64), (c) => c.notNull())
      .addColumn('source_type', type.text(64), (c) => c.notNull())
      .addColumn('source_id', type.text(64), (c) => c.notNull())
      .addColumn('source_state', type.text(32), (c) => c.notNull())
      .addColumn('permission_snapshot', type.json, (c) => c.notNull())
      .addColumn('actor_user_id', type.id)
      .addColumn('actor_name', type.text(64))
      .addColumn('result', type.text(16), (c) => c.notNull())
      .addColumn('reason', type.text(64))
      .addColumn('trace_id', type.text(128))
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex(`${table}_workflow_id_index`).on(table).columns(['workflow', 'id']),
    schema.createIndex(`${table}_source_type_source_id_id_index`).on(table).columns(['source_type', 'source_id', 'id']),
    schema.createIndex(`${table}_created_at_index`).on(table).column('created_at'),
  ],
})
