import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { RunCause, RunOutcome } from './contract.ts'

/**
 * State of one task, and its lease. Each step of the lease changes `fence` or `beat`, so both together identify a
 * state. An update with the condition that both are unchanged has no effect on a newer state.
 */
export const TaskRow = defineEntity({
  name: 'SchedulerTask',
  tableName: 'scheduler_task',
  properties: {
    name: column.text(128).primary(),
    paused: column.boolean(),
    /** Run as soon as possible, regardless of the delay. */
    requested: column.boolean(),
    /** Instance that runs it now. */
    holder: column.text(128).nullable(),
    /** Counts the runs. */
    fence: column.bigint(),
    /** Counts the heartbeats of holders. */
    beat: column.bigint(),
    /** End of the last run. Null before the first run and after a lost one: then the task is due immediately. */
    endedAt: column.timestamp().nullable(),
    /** The current run, or the last one. */
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
    /** Message of the error that the task threw, with secrets masked. */
    error: column.text(500).nullable(),
  },
})
export type RunRow = InferEntity<typeof RunRow>

export const entities = [TaskRow, RunRow]
