import { defineChangeSet } from '@plinth/migrations'

/**
 * PostgreSQL takes two columns for independent unless it counts their values together: it expects tasks of a type and a state
 * that never occur together on every page, and walks the primary key past all of them.
 */
export const countPairs = defineChangeSet({
  id: '0004-count-pairs',
  only: ['postgresql'],
  up: ({ sql }) => [sql`create statistics async_task_type_status_statistics (mcv) on type, status from async_task`],
})
