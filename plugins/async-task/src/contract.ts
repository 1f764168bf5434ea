import type { FoundPage, PageWindow } from '@plinth/database'
import { type LocalizedText, service } from '@plinth/kernel'
import type { Static, TSchema } from 'typebox'
import type { CsvColumn } from './csv.ts'

/**
 * `queued` -> `running` -> `succeeded`, `failed` or `cancelled`. A running task goes back to `queued` when its instance
 * stops or dies.
 */
export const taskStates = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const
export type TaskState = (typeof taskStates)[number]

/** A kind of task, compared by id. */
export interface TaskType<P = unknown> {
  readonly id: string
  readonly displayName: LocalizedText
  /** JSON Schema of the parameters: what JSON can carry. */
  readonly params: TSchema
  /**
   * Permission by which others than the owner read its file, when they have the data scope `all`. Absent: nobody
   * else reads it. Reading what is another's leaves an audit record.
   */
  readonly readPermission?: string
  /** Phantom: the parameters. Never set. */
  readonly '~type'?: P
}

const typeId = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+$/
const longestTypeId = 64

/**
 * Defines a kind of task: `taskType('notification-rule.export', { displayName, params: Type.Object({ ... }) })`. New
 * members of the parameters must be optional: tasks that were queued before the change still run after it.
 *
 * @param id dotted lower-case words, at least two, at most 64 characters
 * @throws RangeError for another id
 */
export function taskType<const S extends TSchema>(
  id: string,
  about: { readonly displayName: LocalizedText; readonly params: S; readonly readPermission?: string },
): TaskType<Static<S>> {
  if (!typeId.test(id) || id.length > longestTypeId) throw new RangeError(`"${id}" is no id of a task type`)
  return Object.freeze({ id, ...about })
}

/** The file that a task made. */
export interface ArtifactFile {
  /** For the one who downloads it, with an extension that tells its type; at most 200 characters. */
  readonly name: string
}

/** What a handler sees of its task. */
export interface TaskContext {
  readonly taskId: number
  readonly ownerId: number
  /** Language of whoever asked for the task, for texts in its result. */
  readonly locale: string
  /** 1 for the first. A later one begins anew: what an earlier one did outside of its artifact stays done. */
  readonly attempt: number
  /**
   * Aborts when the task is cancelled, has run for too long, when the instance stops or has lost the task. The handler
   * must end soon then; how it ends does not matter any more.
   */
  readonly signal: AbortSignal
  /**
   * Shows how far it is. Written about once a second.
   *
   * @param percent 0 to 100; other numbers are brought into the range
   * @param note what it does now, at most 200 characters in each language; the last one stays when absent
   */
  progress(percent: number, note?: LocalizedText): void
  /**
   * Writes the file that is the result, once. It is handed out when the task has succeeded.
   *
   * @throws what the content throws, or the reason of the aborted signal
   */
  writeArtifact(file: ArtifactFile, content: AsyncIterable<string | Uint8Array>): Promise<void>
  /** Writes rows as a CSV file, see `csvText`; however many there are, only a few are in memory. */
  writeCsv<R>(file: ArtifactFile, columns: readonly CsvColumn<R>[], rows: AsyncIterable<R> | Iterable<R>): Promise<void>
}

/** A `BusinessError` that it throws is shown to the owner; of any other error the owner learns that there was one. */
export type TaskHandler<P> = (params: P, context: TaskContext) => void | Promise<void>

/** Why a task failed. */
export interface TaskFailure {
  /** Stable dotted code. */
  readonly reason: string
  /** In English. */
  readonly message: string
  /** Of a text in the language of whoever looks; `undefined` where there is none. */
  readonly messageKey: string | undefined
  readonly params: Readonly<Record<string, string | number>>
}

export interface AsyncTask {
  readonly id: number
  readonly type: string
  readonly ownerId: number
  readonly status: TaskState
  /** True when it runs and is to end. */
  readonly cancelRequested: boolean
  /** 0 to 100. */
  readonly progress: number
  readonly note: LocalizedText | null
  /** Attempts begun. */
  readonly attempts: number
  readonly failure: TaskFailure | null
  /** Only of a task that succeeded. */
  readonly artifact: TaskArtifact | null
  readonly createdAt: Date
  /** First time that it ran. */
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

export interface TaskArtifact {
  readonly name: string
  /** Bytes. */
  readonly size: number
  readonly disk: string
  readonly path: string
}

export interface SubmitOptions {
  /**
   * User who asks for it, and who alone may see it beside those who have the user in their data scope. When the user is
   * deleted or disabled the task ends, whether it waits or runs.
   */
  readonly ownerId: number
  /** Default `en`. */
  readonly locale?: string
}

/** Which tasks to list; all without a member. */
export interface TaskFilter {
  readonly ownerId?: number
  readonly type?: string
  readonly status?: TaskState
}

/**
 * Work that a user asks for and does not wait for: queued, run by an instance with the role `worker`, one at a time for
 * each task. It knows no permissions: whoever submits, looks or cancels for a user checks that the user may.
 */
export interface AsyncTasks {
  /**
   * Says how tasks of a type are run; only during set-up, in every role. One handler per type.
   *
   * @throws PlinthError `PLINTH_ASYNC_TASK_TYPE_TAKEN`, `PLINTH_ASYNC_TASK_PERMISSION`
   */
  handle<P>(type: TaskType<P>, handler: TaskHandler<P>): void
  /**
   * Queues a task: in the caller's transaction when there is one, so that it is queued if and only if that commits.
   *
   * @throws BusinessError "429" `async-task.queue-full`, `async-task.owner-limit`; PlinthError
   *   `PLINTH_ASYNC_TASK_TYPE_UNKNOWN`, `PLINTH_ASYNC_TASK_PARAMS`
   */
  submit<P>(type: TaskType<P>, params: P, options: SubmitOptions): Promise<AsyncTask>
  /** @throws BusinessError "404" `async-task.unknown` */
  get(id: number): Promise<AsyncTask>
  /** @param window the newest 20, not counted, as far as nothing else is said */
  list(filter: TaskFilter, window?: Partial<PageWindow>): Promise<FoundPage<AsyncTask>>
  /**
   * Ends a queued task at once; a running one is told to end. Cancelling twice is cancelling once.
   *
   * @throws BusinessError "404" `async-task.unknown`, "409" `async-task.finished`
   */
  cancel(id: number): Promise<AsyncTask>
}

export const asyncTasks = service<AsyncTasks>('async-tasks', { from: '@plinth/async-task' })

export { asyncTaskFailed } from '@plinth/events'
