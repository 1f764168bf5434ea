import { type Database, type FoundPage, findPage, type PageWindow } from '@plinth/database'
import { omitUndefined } from '@plinth/kernel'
import type {
  AsyncTask,
  AsyncTasks,
  SubmitOptions,
  TaskArtifact,
  TaskFilter,
  TaskHandler,
  TaskType,
} from './contract.ts'
import { businessError } from './declarations.ts'
import { TaskRow } from './entities.ts'
import type { TaskLimits, TaskRows } from './task-rows.ts'
import type { TaskTypes } from './task-types.ts'

interface ServiceDependencies {
  readonly db: Database
  readonly types: TaskTypes
  readonly rows: TaskRows
  readonly limits: () => TaskLimits
  readonly onChanged: () => void
}

const maxLocaleLength = 35
const cancelAttempts = 20
const newest: PageWindow = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' }

export class TaskService implements AsyncTasks {
  readonly #parts: ServiceDependencies

  constructor(parts: ServiceDependencies) {
    this.#parts = parts
  }

  handle<P>(type: TaskType<P>, handler: TaskHandler<P>): void {
    this.#parts.types.handle(type, handler)
  }

  async submit<P>(type: TaskType<P>, params: P, { ownerId, locale = 'en' }: SubmitOptions): Promise<AsyncTask> {
    const { db, types, rows, limits, onChanged } = this.#parts
    const text = types.encode(type.id, params)
    return db.transactional(async () => {
      const allowed = limits()
      const { isFull, isFullForOwner, turn } = await rows.enter(ownerId, types.ids, allowed)
      if (isFull) throw businessError('queue-full')
      if (isFullForOwner) throw businessError('owner-limit', { params: { limit: allowed.perOwner } })
      const isTag = locale.length <= maxLocaleLength
      const id = await rows.insert({ type: type.id, ownerId, locale: isTag ? locale : 'en', params: text, turn })
      db.afterCommit(onChanged)
      return this.get(id)
    })
  }

  /** @param condition additional condition */
  async get(id: number, condition?: object): Promise<AsyncTask> {
    const row = await this.#parts.rows.find(id, condition)
    if (row === null) throw businessError('unknown')
    return taskOf(row)
  }

  /** @param condition additional condition for all tasks */
  async list(
    { ownerId, type, status }: TaskFilter,
    window: Partial<PageWindow> = {},
    condition: object = {},
  ): Promise<FoundPage<AsyncTask>> {
    const where = { $and: [omitUndefined<TaskFilter>({ ownerId, type, status }), condition] }
    const found = await findPage(
      this.#parts.db.fork(),
      TaskRow,
      where,
      { ...newest, ...window },
      { exclude: ['params'] },
    )
    return { ...found, items: found.items.map(taskOf) }
  }

  /** @param together runs in the same transaction if this call cancels the task */
  async cancel(id: number, together: () => Promise<void> = async () => {}): Promise<AsyncTask> {
    const { db, rows, onChanged } = this.#parts
    // Tries again, because the task may begin, end or return to the queue between the read and the update.
    for (let left = cancelAttempts; left > 0; left--) {
      const task = await this.get(id)
      if (task.status === 'cancelled' || task.cancelRequested) return task
      if (task.status === 'succeeded' || task.status === 'failed') throw businessError('finished')
      const isDone = await db.transactional(async () => {
        const isCancelled = task.status === 'queued' ? await rows.cancelQueued(id) : await rows.requestCancel(id)
        if (isCancelled) await together()
        return isCancelled
      })
      if (!isDone) continue
      db.afterCommit(onChanged)
      return this.get(id)
    }
    throw new Error(`Task ${id} changes faster than it can be cancelled`)
  }
}

function taskOf(row: Omit<TaskRow, 'params'>): AsyncTask {
  const { id, type, ownerId, status, cancelRequested, progress, attempts, createdAt } = row
  return {
    id,
    type,
    ownerId,
    status,
    progress,
    attempts,
    createdAt,
    cancelRequested: cancelRequested && status === 'running',
    note: row.note == null ? null : JSON.parse(row.note),
    failure: row.failure == null ? null : JSON.parse(row.failure),
    artifact: artifactOf(row),
    startedAt: row.startedAt ?? null,
    finishedAt: row.finishedAt ?? null,
  }
}

function artifactOf({
  artifactDisk: disk,
  artifactPath: path,
  artifactName,
  artifactSize,
}: Omit<TaskRow, 'params'>): TaskArtifact | null {
  if (disk == null || path == null) return null
  return { disk, path, name: artifactName ?? '', size: artifactSize ?? 0 }
}
