import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { TaskState } from './contract.ts'

/**
 * One task, with its lease while it runs. Every step of the lease changes `fence` or `beat`, so the two together name a
 * state: who saw it may act on it by a conditional update, and comes too late when it has changed.
 */
export const TaskRow = defineEntity({
  name: 'AsyncTask',
  tableName: 'async_task',
  indexes: [
    { name: 'async_task_status_id_index', properties: ['status', 'id'] },
    { name: 'async_task_owner_id_index', properties: ['ownerId', 'id'] },
    { name: 'async_task_type_id_index', properties: ['type', 'id'] },
    { name: 'async_task_type_status_turn_id_index', properties: ['type', 'status', 'turn', 'id'] },
    { name: 'async_task_type_status_id_index', properties: ['type', 'status', 'id'] },
    { name: 'async_task_owner_id_status_id_index', properties: ['ownerId', 'status', 'id'] },
    {
      name: 'async_task_artifact_disk_finished_at_id_index',
      properties: ['artifactDisk', 'finishedAt', 'id'],
    },
  ],
  properties: {
    id: column.primaryKey(),
    type: column.text(64),
    ownerId: column.id(),
    locale: column.text(35),
    /** JSON, as text so that it comes back as it was written. */
    params: column.longText(),
    status: column.text(16).$type<TaskState>(),
    /** Among tasks of a type that wait the lowest is next. Those of one owner have different ones, save 0: to be begun again. */
    turn: column.bigint().default(0),
    cancelRequested: column.boolean(),
    progress: column.integer(),
    /** JSON of the text in one or both languages. */
    note: column.longText().nullable(),
    /** Attempts begun. */
    attempts: column.integer(),
    /** Instance that runs it now. */
    holder: column.text(128).nullable(),
    /** Counts the runs. */
    fence: column.bigint(),
    /** Counts the signs of life of holders. */
    beat: column.bigint(),
    /** JSON of the failure. */
    failure: column.longText().nullable(),
    /** Where its result is, or what runs without a result may have left. Without it there is no file of the task. */
    artifactDisk: column.text(64).nullable(),
    artifactPath: column.text(512).nullable(),
    artifactName: column.text(200).nullable(),
    artifactSize: column.bigint().nullable(),
    createdAt: column.timestamp(),
    startedAt: column.timestamp().nullable(),
    finishedAt: column.timestamp().nullable(),
  },
})
export type TaskRow = InferEntity<typeof TaskRow>

/** Who changes a row in a transaction is the only one who submits by it until that ends. The first is for all owners. */
const GateRow = defineEntity({
  name: 'AsyncTaskGate',
  tableName: 'async_task_gate',
  properties: {
    id: column.primaryKey(),
    /** Tasks submitted. */
    entries: column.bigint(),
  },
})

export const entities = [TaskRow, GateRow]
