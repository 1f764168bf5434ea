import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { RunCause, RunOutcome } from './contract.ts'

/**
 * State of a task, and its lease. Each change of the lease increments `fence` or `beat`. So an update that requires
 * both to be unchanged has no effect if the lease has changed.
 */
export const TaskRow = defineEntity({
  name: 'SchedulerTask',
  tableName: 'scheduler_task',
  properties: {
    name: column.text(128).primary(),
    paused: column.boolean(),
    /** True if a run was requested, regardless of the delay. */
    requested: column.boolean(),
    /** Instance that runs the task. */
    holder: column.text(128).nullable(),
    /** Number of runs. */
    fence: column.bigint(),
    /** Number of heartbeats. */
    beat: column.bigint(),
    /** End of the last run. If null, the task is due immediately: before the first run and after a lost run. */
    endedAt: column.timestamp().nullable(),
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
    error: column.text(500).nullable(),
  },
})
export type RunRow = InferEntity<typeof RunRow>

export const entities = [TaskRow, RunRow]
