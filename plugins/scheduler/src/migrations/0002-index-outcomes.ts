import { defineChangeSet } from '@plinth/migrations'

/** The index serves the history of a task by outcome and the count of consecutive failures. */
export const indexOutcomes = defineChangeSet({
  id: '0002-index-outcomes',
  up: ({ schema }) => [
    schema.createIndex('scheduler_run_task_outcome_index').on('scheduler_run').columns(['task', 'outcome', 'id']),
  ],
})
