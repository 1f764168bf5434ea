import { defineChangeSet } from '@plinth/migrations'

/** Value of `ownerGates` in task-rows.ts at the time of this change set. */
const ownerGates = 64

/** Adds turns for owners, rows to lock during submissions, and indexes for filters and the purge. */
export const addTurnTables = defineChangeSet({
  id: '0002-take-turns',
  up: ({ schema, type }) => [
    schema.alterTable('async_task').addColumn('turn', type.bigint, (c) => c.notNull().defaultTo(0)),
    schema.createIndex('async_task_type_id_index').on('async_task').columns(['type', 'id']),
    schema
      .createIndex('async_task_type_status_turn_id_index')
      .on('async_task')
      .columns(['type', 'status', 'turn', 'id']),
    schema.createIndex('async_task_owner_id_status_index').on('async_task').columns(['owner_id', 'status']),
    schema
      .createIndex('async_task_artifact_disk_finished_at_id_index')
      .on('async_task')
      .columns(['artifact_disk', 'finished_at', 'id']),
    schema.dropIndex('async_task_finished_at_index').on('async_task'),
    schema
      .createTable('async_task_gate')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('entries', type.bigint, (c) => c.notNull()),
  ],
  data: async ({ db }) => {
    const rows = Array.from({ length: 1 + ownerGates }, (_, index) => ({ id: 1 + index, entries: 0 }))
    await db.insertInto('async_task_gate').values(rows).execute()
  },
})
