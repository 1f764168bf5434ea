import { defineChangeSet } from '@plinth/migrations'

export const createScheduler = defineChangeSet({
  id: '0001-create-scheduler',
  up: ({ schema, type }) => [
    schema
      .createTable('scheduler_task')
      .addColumn('name', type.text(128), (c) => c.primaryKey())
      .addColumn('paused', type.boolean, (c) => c.notNull())
      .addColumn('requested', type.boolean, (c) => c.notNull())
      .addColumn('holder', type.text(128))
      .addColumn('fence', type.bigint, (c) => c.notNull())
      .addColumn('beat', type.bigint, (c) => c.notNull())
      .addColumn('ended_at', type.timestamp)
      .addColumn('run_id', type.id),

    schema
      .createTable('scheduler_run')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('task', type.text(128), (c) => c.notNull())
      .addColumn('cause', type.text(16), (c) => c.notNull())
      .addColumn('instance', type.text(128), (c) => c.notNull())
      .addColumn('started_at', type.timestamp, (c) => c.notNull())
      .addColumn('ended_at', type.timestamp)
      .addColumn('duration_ms', type.bigint)
      .addColumn('outcome', type.text(16))
      .addColumn('error', type.text(500)),
    schema.createIndex('scheduler_run_task_id_index').on('scheduler_run').columns(['task', 'id']),
  ],
})
