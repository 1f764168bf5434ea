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
    { name: 'async_task_finished_at_index', properties: ['finishedAt'] },
  ],
  properties: {
    id: column.primaryKey(),
    type: column.text(64),
    ownerId: column.id(),
    locale: column.text(35),
    /** JSON, as text so that it comes back as it was written. */
    params: column.longText(),
    status: column.text(16).$type<TaskState>(),
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

export const entities = [TaskRow]
