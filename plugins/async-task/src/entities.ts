import { defineEntity, type FilterQuery, type InferEntity } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable, type Plugin, type PluginDataStore } from '@plinth/kernel'
import { ownerOfName } from '@plinth/kernel/host'
import type { Artifacts } from './artifacts.ts'
import type { TaskState } from './contract.ts'

/**
 * A task, and its lease while it runs. Each change of the lease increments `fence` or `beat`. So an update that
 * requires both to be unchanged has no effect if the lease has changed.
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
    /** JSON text. It is not a JSON column, so that it is read exactly as it was written. */
    params: column.longText(),
    status: column.text(16).$type<TaskState>(),
    /**
     * Among the queued tasks of a type, the task with the lowest turn is next. The tasks of one owner have different
     * turns, except that a task that is queued again has turn 0.
     */
    turn: column.bigint().default(0),
    cancelRequested: column.boolean(),
    progress: column.integer(),
    note: column.longText().nullable(),
    attempts: column.integer(),
    /** Instance that runs the task. */
    holder: column.text(128).nullable(),
    /** Number of runs. */
    fence: column.bigint(),
    /** Number of heartbeats. */
    beat: column.bigint(),
    failure: column.longText().nullable(),
    /** Disk with the result file, or with files of earlier attempts. Null if the task has no files. */
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

/**
 * Rows that are locked while tasks are submitted. A transaction that changes a row makes other submissions with the
 * same row wait until it ends. The first row is for all owners.
 */
const GateRow = defineEntity({
  name: 'AsyncTaskGate',
  tableName: 'async_task_gate',
  properties: {
    id: column.primaryKey(),
    entries: column.bigint(),
  },
})

export const entities = [TaskRow, GateRow]

/** Rows per batch. Small batches do not block other writers for long. */
const batch = 50

/** Removes tasks with their files. The files of a task are removed before its row, so that another call can continue. */
async function removeTasks(
  db: Database,
  artifacts: Artifacts,
  where: FilterQuery<TaskRow>,
  signal?: AbortSignal,
): Promise<number> {
  const window = { fields: ['id', 'artifactDisk'], orderBy: { id: 'asc' }, limit: batch } as const
  let removed = 0
  for (;;) {
    signal?.throwIfAborted()
    const em = db.fork()
    const tasks = await em.find(TaskRow, where, window)
    if (tasks.length === 0) return removed
    for (const { id, artifactDisk } of tasks) await artifacts.remove(id, artifactDisk ?? artifacts.disk)
    removed += await em.nativeDelete(TaskRow, { id: { $in: tasks.map(({ id }) => id) } })
  }
}

/** Tasks of users. */
export const taskTables = (db: Database, artifacts: Artifacts): readonly PersonalTable[] => [
  {
    ...personalTable(db, TaskRow, {
      title: bilingual('Background tasks, with their files', '后台任务及其文件'),
      owner: 'owner_id',
      erasure: 'removed',
    }),
    erase: ({ userId }, signal) => removeTasks(db, artifacts, { ownerId: userId }, signal),
  },
]

/** Finds and removes the tasks of a plugin with their files, for the removal of the plugin. */
export function pluginTasks(
  db: Database,
  artifacts: Artifacts,
  plugins: readonly Pick<Plugin, 'id'>[],
): PluginDataStore {
  const typesOf = async (id: string) => {
    const rows = await db.query<{ type: string; n: number | string }>(
      'select type, count(*) as n from async_task where type = ? or type like ? group by type order by type',
      [id, `${id}.%`],
    )
    return rows.filter(({ type }) => ownerOfName(type, plugins) === id)
  }
  return {
    async find({ id }) {
      return (await typesOf(id)).map(({ type, n }) => ({ kind: 'asynchronous tasks', name: type, rows: Number(n) }))
    },
    async remove({ id }) {
      const types = (await typesOf(id)).map(({ type }) => type)
      await removeTasks(db, artifacts, { type: { $in: types } })
    },
  }
}
