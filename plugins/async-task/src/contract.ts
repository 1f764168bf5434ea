import type { FoundPage, PageWindow } from '@plinth/database'
import { type LocalizedText, service } from '@plinth/kernel'
import type { Static, TSchema } from 'typebox'
import type { CsvColumn } from './csv.ts'

/**
 * `queued`, then `running`, then `succeeded`, `failed` or `cancelled`. A running task returns to `queued` when its
 * instance stops or dies.
 */
export const taskStates = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const
export type TaskState = (typeof taskStates)[number]

/** Lanes of tasks. Each lane has its own slots on each instance. */
export const taskLanes = ['database', 'network'] as const
export type TaskLane = (typeof taskLanes)[number]

/** A type of task. Two types are the same if their ids are equal. */
export interface TaskType<P = unknown> {
  readonly id: string
  readonly displayName: LocalizedText
  /** JSON Schema of the parameters. */
  readonly params: TSchema
  /**
   * Permission to read the files of other users' tasks, together with the data scope `all`. If absent, only the owner
   * can read the file. Reading another user's file is audited.
   */
  readonly readPermission?: string
  /**
   * Lane whose slots the tasks use. Tasks that wait for other servers must use `network`, so that they never delay tasks
   * that only use the database. Default: `database`.
   */
  readonly lane?: TaskLane
  /** Type of the parameters, for the compiler only. Never set. */
  readonly '~type'?: P
}

const typeId = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+$/
const maxTypeIdLength = 64

/**
 * Defines a type of task: `taskType('notification-rule.export', { displayName, params: Type.Object({ ... }) })`. If you
 * add a parameter later, make it optional, because tasks queued before the change still run after it.
 *
 * @param id at least two lower-case words joined by dots, at most 64 characters
 * @throws RangeError for an invalid id
 */
export function taskType<const S extends TSchema>(
  id: string,
  about: { readonly displayName: LocalizedText; readonly params: S } & Pick<TaskType, 'readPermission' | 'lane'>,
): TaskType<Static<S>> {
  if (!typeId.test(id) || id.length > maxTypeIdLength) throw new RangeError(`"${id}" is no id of a task type`)
  return Object.freeze({ id, ...about })
}

/** The result file of a task. */
export interface ArtifactFile {
  /** File name for the download with an extension, at most 200 characters. */
  readonly name: string
}

/** A run of a task, as its handler receives it. */
export interface TaskContext {
  readonly taskId: number
  readonly ownerId: number
  /** Language of the user who submitted the task, for texts in the result. */
  readonly locale: string
  /**
   * Number of the attempt, from 1. A later attempt starts from the beginning. Effects of earlier attempts remain,
   * except their files.
   */
  readonly attempt: number
  /**
   * Aborts when the task is cancelled, runs too long or was lost, and when the instance stops. The handler must then
   * end soon, and its result is ignored.
   */
  readonly signal: AbortSignal
  /**
   * Reports the progress, which is stored about once per second.
   *
   * @param percent 0 to 100; other numbers are limited to this range
   * @param note current activity, at most 200 characters per language; if absent, the last note stays
   */
  progress(percent: number, note?: LocalizedText): void
  /**
   * Writes the result file, at most once per run. Users can download it after the task has succeeded.
   *
   * @throws the error of `content`, or the reason of the aborted signal
   */
  writeArtifact(file: ArtifactFile, content: AsyncIterable<string | Uint8Array>): Promise<void>
  /** Writes rows as a CSV file with `csvText`. Only a few rows are in memory at a time. */
  writeCsv<R>(file: ArtifactFile, columns: readonly CsvColumn<R>[], rows: AsyncIterable<R> | Iterable<R>): Promise<void>
}

/**
 * The owner sees a `BusinessError` that the handler throws. After any other error, the owner only sees that the task
 * failed.
 */
export type TaskHandler<P> = (params: P, context: TaskContext) => void | Promise<void>

/** Why a task failed. */
export interface TaskFailure {
  readonly reason: string
  /** English text for users. */
  readonly message: string
  /** Key of a translated message, or `undefined`. */
  readonly messageKey: string | undefined
  readonly params: Readonly<Record<string, string | number>>
}

export interface AsyncTask {
  readonly id: number
  readonly type: string
  readonly ownerId: number
  readonly status: TaskState
  /** True if a cancellation was requested while the task was running. */
  readonly cancelRequested: boolean
  /** Percentage, 0 to 100. */
  readonly progress: number
  readonly note: LocalizedText | null
  readonly attempts: number
  readonly failure: TaskFailure | null
  readonly artifact: TaskArtifact | null
  readonly createdAt: Date
  /** Start of the first attempt. */
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

export interface TaskArtifact {
  readonly name: string
  /** Size in bytes. */
  readonly size: number
  readonly disk: string
  readonly path: string
}

export interface SubmitOptions {
  /**
   * User who submits the task. The task is visible only to this user and to users whose data scope includes this user.
   * It ends when the user is deleted or disabled.
   */
  readonly ownerId: number
  /** Language tag; default: `en`. */
  readonly locale?: string
}

/** Filter for tasks. An empty filter matches all tasks. */
export interface TaskFilter {
  readonly ownerId?: number
  readonly type?: string
  readonly status?: TaskState
}

/**
 * Background work for a user. Tasks are queued, and an instance with the role `worker` runs them. Each task runs on one
 * instance at a time. The service does not check permissions: the caller must check that the user may submit, see or
 * cancel the task.
 */
export interface AsyncTasks {
  /**
   * Adds the handler of a task type during setup, in all process roles. Each type has one handler.
   *
   * @throws PlinthError `PLINTH_ASYNC_TASK_TYPE_TAKEN`, `PLINTH_ASYNC_TASK_PERMISSION`
   */
  handle<P>(type: TaskType<P>, handler: TaskHandler<P>): void
  /**
   * Queues a task, in the current transaction if there is one.
   *
   * @throws BusinessError "429" `async-task.queue-full`, `async-task.owner-limit`
   * @throws PlinthError `PLINTH_ASYNC_TASK_TYPE_UNKNOWN`, `PLINTH_ASYNC_TASK_PARAMS`
   */
  submit<P>(type: TaskType<P>, params: P, options: SubmitOptions): Promise<AsyncTask>
  /** @throws BusinessError "404" `async-task.unknown` */
  get(id: number): Promise<AsyncTask>
  /** @param window default: the newest 20 tasks, without a total */
  list(filter: TaskFilter, window?: Partial<PageWindow>): Promise<FoundPage<AsyncTask>>
  /**
   * Ends a queued task, or aborts the signal of a running task. A second call has no effect.
   *
   * @throws BusinessError "404" `async-task.unknown`, "409" `async-task.finished`
   */
  cancel(id: number): Promise<AsyncTask>
}

export const asyncTasks = service<AsyncTasks>('async-tasks', { from: '@plinth/async-task' })

export { asyncTaskFailed } from '@plinth/events'
