import { defineChangeSet } from '@plinth/migrations'

export const indexOutcomes = defineChangeSet({
  id: '0002-index-outcomes',
  up: ({ schema }) => [
    schema.createIndex('scheduler_run_task_outcome_index').on('scheduler_run').columns(['task', 'outcome', 'id']),
  ],
})
