import { defineChangeSet } from '@plinth/migrations'

export const createAsyncTask = defineChangeSet({
  id: '0001-create-async-task',
  up: ({ schema, type }) => [
    schema
      .createTable('async_task')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('type', type.text(64), (c) => c.notNull())
      .addColumn('owner_id', type.id, (c) => c.notNull())
      .addColumn('locale', type.text(35), (c) => c.notNull())
      .addColumn('params', type.longText, (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('cancel_requested', type.boolean, (c) => c.notNull())
      .addColumn('progress', type.integer, (c) => c.notNull())
      .addColumn('note', type.longText)
      .addColumn('attempts', type.integer, (c) => c.notNull())
      .addColumn('holder', type.text(128))
      .addColumn('fence', type.bigint, (c) => c.notNull())
      .addColumn('beat', type.bigint, (c) => c.notNull())
      .addColumn('failure', type.longText)
      .addColumn('artifact_disk', type.text(64))
      .addColumn('artifact_path', type.text(512))
      .addColumn('artifact_name', type.text(200))
      .addColumn('artifact_size', type.bigint)
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('started_at', type.timestamp)
      .addColumn('finished_at', type.timestamp),
    schema.createIndex('async_task_status_id_index').on('async_task').columns(['status', 'id']),
    schema.createIndex('async_task_owner_id_index').on('async_task').columns(['owner_id', 'id']),
    schema.createIndex('async_task_finished_at_index').on('async_task').column('finished_at'),
  ],
})
