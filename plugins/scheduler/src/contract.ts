import type { FoundPage, PageWindow } from '@plinth/database'
import { type LocalizedText, service } from '@plinth/kernel'

/** Why a run began: its delay was over, or it was requested. */
export const runCauses = ['delay', 'request'] as const
export type RunCause = (typeof runCauses)[number]

/**
 * Outcome of a run. `aborted`: its signal aborted because the instance stopped. `lost`: its instance died or could not
 * renew the lease, and another one took over the task.
 */
export const runOutcomes = ['succeeded', 'failed', 'aborted', 'lost'] as const
export type RunOutcome = (typeof runOutcomes)[number]

export interface TaskRun {
  readonly id: number
  readonly task: string
  readonly cause: RunCause
  /** Host, process id and a random part. */
  readonly instance: string
  readonly startedAt: Date
  /** Null while it runs. */
  readonly endedAt: Date | null
  /** Null while it runs, and for a lost run. */
  readonly durationMs: number | null
  readonly outcome: RunOutcome | null
  /** Message of the error that a failed run threw, with secrets masked; at most 500 characters. */
  readonly error: string | null
}

export interface TaskState {
  readonly name: string
  readonly plugin: string
  readonly displayName: LocalizedText
  /** Milliseconds between the end of a run and the start of the next. */
  readonly fixedDelayMs: number
  /** True if it runs automatically. */
  readonly autoStartup: boolean
  readonly paused: boolean
  readonly running: boolean
  /** Requested and not yet begun. */
  readonly requested: boolean
  readonly lastRun: TaskRun | null
  /** Null while it runs, and if it is neither automatic nor requested. In the past while no worker has begun it. */
  readonly nextRunAt: Date | null
  /** Due for longer than `platform.scheduler.lease`, and no instance begins it. */
  readonly overdue: boolean
  /** It expires data, releases holds or deletes. */
  readonly irreversible: boolean
  /**
   * The task is irreversible and the instance that responds does not run it, because its clock differs from the
   * database's.
   */
  readonly heldBack: boolean
}

/** Filter of runs. Without members, it matches all runs. */
export interface RunFilter {
  readonly outcome?: RunOutcome | undefined
}

/**
 * The scheduled tasks of all plugins that are loaded in this process. Works in every process role. The tasks run in
 * processes with the role `worker`.
 */
export interface Scheduler {
  list(): Promise<readonly TaskState[]>
  /** @throws BusinessError `scheduler.task-unknown` */
  get(name: string): Promise<TaskState>
  /**
   * Requests a run as soon as possible, also of a task that is paused or does not run automatically. The next worker
   * that polls runs it. A second request before the start has no effect.
   *
   * @throws BusinessError `scheduler.task-unknown`, `scheduler.task-running`
   */
  runNow(name: string): Promise<TaskState>
  /**
   * Stops automatic runs of a task on all instances until `resume`. A current run continues.
   *
   * @throws BusinessError `scheduler.task-unknown`
   */
  pause(name: string): Promise<TaskState>
  /** @throws BusinessError `scheduler.task-unknown` */
  resume(name: string): Promise<TaskState>
  /**
   * Returns runs of one task.
   *
   * @param window default: the newest 20, without a count
   * @throws BusinessError `scheduler.task-unknown`
   * @throws PlinthError `PLINTH_DATABASE_POSITION` for a position of another order
   */
  history(name: string, filter?: RunFilter, window?: Partial<PageWindow>): Promise<FoundPage<TaskRun>>
}

export const scheduler = service<Scheduler>('scheduler', { from: '@plinth/scheduler' })

export { scheduledTaskFailed } from '@plinth/events'
