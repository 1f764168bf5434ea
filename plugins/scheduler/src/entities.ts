import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { RunCause, RunOutcome } from './contract.ts'

/**
 * Where one task stands, and its lease. Every step of the lease changes `fence` or `beat`, so the two together name a
 * state: who saw it may act on it by a conditional update, and comes too late when it has changed.
 */
export const TaskRow = defineEntity({
  name: 'SchedulerTask',
  tableName: 'scheduler_task',
  properties: {
    name: column.text(128).primary(),
    paused: column.boolean(),
    /** Run as soon as possible, whatever the delay says. */
    requested: column.boolean(),
    /** Instance that runs it now. */
    holder: column.text(128).nullable(),
    /** Counts the runs. */
    fence: column.bigint(),
    /** Counts the signs of life of holders. */
    beat: column.bigint(),
    /** End of the last run. Null before the first one and after one whose instance died: then it is due at once. */
    endedAt: column.timestamp().nullable(),
    /** The last run, or the one that goes on. */
    runId: column.id().nullable(),
  },
})
export type TaskRow = InferEntity<typeof TaskRow>

export const RunRow = defineEntity({
  name: 'SchedulerRun',
  tableName: 'scheduler_run',
  indexes: [
    { name: 'scheduler_run_task_id_index', properties: ['task', 'id'] },
    { name: 'scheduler_run_task_outcome_index', properties: ['task', 'outcome', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    task: column.text(128),
    cause: column.text(16).$type<RunCause>(),
    instance: column.text(128),
    startedAt: column.timestamp(),
    endedAt: column.timestamp().nullable(),
    durationMs: column.bigint().nullable(),
    outcome: column.text(16).$type<RunOutcome>().nullable(),
    /** Message of what the task threw, with secrets masked. */
    error: column.text(500).nullable(),
  },
})
export type RunRow = InferEntity<typeof RunRow>

export const entities = [TaskRow, RunRow]
