import { defineChangeSet } from '@plinth/migrations'

/** Adds an index for the history of a task by outcome and for counting consecutive failures. */
export const indexOutcomes = defineChangeSet({
  id: '0002-index-outcomes',
  up: ({ schema }) => [
    schema.createIndex('scheduler_run_task_outcome_index').on('scheduler_run').columns(['task', 'outcome', 'id']),
  ],
})
