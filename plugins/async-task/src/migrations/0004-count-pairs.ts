import { defineChangeSet } from '@plinth/migrations'

/**
 * Without this statistics object, PostgreSQL assumes that the two columns are independent. It then expects combinations
 * of type and status that never occur, and scans the primary key past all rows.
 */
export const countPairs = defineChangeSet({
  id: '0004-count-pairs',
  only: ['postgresql'],
  up: ({ sql }) => [sql`create statistics async_task_type_status_statistics (mcv) on type, status from async_task`],
})
