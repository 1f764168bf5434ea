import type { Database } from '@plinth/database'
import type {
  AsyncTask,
  AsyncTasks,
  SubmitOptions,
  TaskArtifact,
  TaskFilter,
  TaskHandler,
  TaskType,
} from './contract.ts'
import { TaskRow } from './entities.ts'
import { refusal } from './failures.ts'
import type { TaskRows } from './task-rows.ts'
import type { TaskTypes } from './task-types.ts'

export interface ServiceParts {
  readonly db: Database
  readonly types: TaskTypes
  readonly rows: TaskRows
  readonly limits: () => { readonly capacity: number; readonly perOwner: number }
  /** Called after a commit that queued a task or asked for the end of one. */
  readonly onChanged: () => void
}

/** As many characters as a language tag may sensibly have. */
const longestLocale = 35
const cancelAttempts = 20

/** See `AsyncTasks`. */
export class TaskService implements AsyncTasks {
  readonly #parts: ServiceParts

  constructor(parts: ServiceParts) {
    this.#parts = parts
  }

  handle<P>(type: TaskType<P>, handler: TaskHandler<P>): void {
    this.#parts.types.handle(type, handler)
  }

  async submit<P>(type: TaskType<P>, params: P, { ownerId, locale = 'en' }: SubmitOptions): Promise<AsyncTask> {
    const { db, types, rows, limits, onChanged } = this.#parts
    const text = types.encode(type.id, params)
    return db.transactional(async () => {
      const { capacity, perOwner } = limits()
      const { queued, ofOwner } = await rows.load(ownerId)
      if (queued >= capacity) throw refusal('queue-full')
      if (ofOwner >= perOwner) throw refusal('owner-limit', { limit: perOwner })
      const isTag = locale.length <= longestLocale
      const id = await rows.insert({ type: type.id, ownerId, locale: isTag ? locale : 'en', params: text })
      db.afterCommit(onChanged)
      return this.get(id)
    })
  }

  /** @param condition that it must also meet */
  async get(id: number, condition?: object): Promise<AsyncTask> {
    const row = await this.#parts.rows.find(id, condition)
    if (row === null) throw refusal('unknown')
    return taskOf(row)
  }

  /** @param condition that all of them must meet too */
  async list({ page, size, ownerId, type, status }: TaskFilter, condition: object = {}) {
    const filter = {
      ...(ownerId === undefined ? {} : { ownerId }),
      ...(type === undefined ? {} : { type }),
      ...(status === undefined ? {} : { status }),
    }
    const options = { orderBy: { id: 'desc' }, limit: size, offset: (page - 1) * size } as const
    const [rows, total] = await this.#parts.db.fork().findAndCount(TaskRow, { $and: [filter, condition] }, options)
    return { items: rows.map(taskOf), total }
  }

  /** @param together done in the same transaction when this call is the one that cancels */
  async cancel(id: number, together: () => Promise<void> = async () => {}): Promise<AsyncTask> {
    const { db, rows, onChanged } = this.#parts
    // It may begin, end or go back to the queue between two looks.
    for (let left = cancelAttempts; left > 0; left--) {
      const task = await this.get(id)
      if (task.status === 'cancelled' || task.cancelRequested) return task
      if (task.status === 'succeeded' || task.status === 'failed') throw refusal('finished')
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

function taskOf(row: TaskRow): AsyncTask {
  const { id, type, ownerId, status, cancelRequested, progress, attempts, createdAt } = row
  return {
    ...{ id, type, ownerId, status, progress, attempts, createdAt },
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
}: TaskRow): TaskArtifact | null {
  if (disk == null || path == null) return null
  return { disk, path, name: artifactName ?? '', size: artifactSize ?? 0 }
}
