import { defineChangeSet } from '@plinth/migrations'

/** The history of a task can be asked for by outcome, and a failure counts those before it. */
export const indexOutcomes = defineChangeSet({
  id: '0002-index-outcomes',
  up: ({ schema }) => [
    schema.createIndex('scheduler_run_task_outcome_index').on('scheduler_run').columns(['task', 'outcome', 'id']),
  ],
})
