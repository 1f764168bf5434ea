import { defineChangeSet } from '@plinth/migrations'

/**
 * Without these statistics, PostgreSQL treats type and status as independent. It then expects combinations that never
 * occur, and scans all rows for them.
 */
export const addColumnStatistics = defineChangeSet({
  id: '0004-count-pairs',
  only: ['postgresql'],
  up: ({ sql }) => [sql`create statistics async_task_type_status_statistics (mcv) on type, status from async_task`],
})
