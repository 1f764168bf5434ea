import type { FoundPage, PageWindow } from '@plinth/database'
import { type LocalizedText, service } from '@plinth/kernel'

/** Why a run began: its delay was over, or it was requested. */
export const runCauses = ['delay', 'request'] as const
export type RunCause = (typeof runCauses)[number]

/**
 * How a run ended. `aborted`: its instance stopped. `lost`: its instance died or could not renew the lease, so another
 * instance took over the task.
 */
export const runOutcomes = ['succeeded', 'failed', 'aborted', 'lost'] as const
export type RunOutcome = (typeof runOutcomes)[number]

export interface TaskRun {
  readonly id: number
  readonly task: string
  readonly cause: RunCause
  /** Name of the instance: host, process id and a random part. */
  readonly instance: string
  readonly startedAt: Date
  /** End of the run; null while it runs. */
  readonly endedAt: Date | null
  /** Duration; null while it runs, and for a lost run. */
  readonly durationMs: number | null
  readonly outcome: RunOutcome | null
  /** Error message of a failed run with masked secrets, at most 500 characters. */
  readonly error: string | null
}

export interface TaskState {
  readonly name: string
  readonly plugin: string
  readonly displayName: LocalizedText
  /** Milliseconds between the end of a run and the start of the next. */
  readonly fixedDelayMs: number
  readonly autoStartup: boolean
  readonly paused: boolean
  readonly running: boolean
  /** True if a run was requested and has not begun. */
  readonly requested: boolean
  readonly lastRun: TaskRun | null
  /**
   * Time of the next run. Null while the task runs, and if it is neither automatic nor requested. In the past if the
   * task is due and no worker has begun it.
   */
  readonly nextRunAt: Date | null
  /** True if the task has been due for longer than `platform.scheduler.lease` and no instance has begun it. */
  readonly overdue: boolean
  /** True if the task deletes or expires data, or releases reserved amounts. */
  readonly irreversible: boolean
  /**
   * True if the instance that responds does not run the task: the task is irreversible, and the clock of the instance
   * differs from that of the database.
   */
  readonly heldBack: boolean
}

/** Filter for runs. An empty filter matches all runs. */
export interface RunFilter {
  readonly outcome?: RunOutcome | undefined
}

/**
 * The scheduled tasks of the plugins that are loaded in this process. Available in every process role. Processes with
 * the role `worker` run the tasks.
 */
export interface Scheduler {
  list(): Promise<readonly TaskState[]>
  /** @throws BusinessError `scheduler.task-unknown` */
  get(name: string): Promise<TaskState>
  /**
   * Requests a run, even of a task that is paused or does not run automatically. The next worker that polls runs it. A
   * second request before the start has no effect.
   *
   * @throws BusinessError `scheduler.task-unknown`, `scheduler.task-running`
   */
  runNow(name: string): Promise<TaskState>
  /**
   * Stops automatic runs of a task on all instances until `resume` is called. A current run continues.
   *
   * @throws BusinessError `scheduler.task-unknown`
   */
  pause(name: string): Promise<TaskState>
  /** @throws BusinessError `scheduler.task-unknown` */
  resume(name: string): Promise<TaskState>
  /**
   * Returns runs of one task.
   *
   * @param window default: the newest 20, without a total
   * @throws BusinessError `scheduler.task-unknown`
   * @throws PlinthError `PLINTH_DATABASE_POSITION` for a cursor of another order
   */
  history(name: string, filter?: RunFilter, window?: Partial<PageWindow>): Promise<FoundPage<TaskRun>>
}

export const scheduler = service<Scheduler>('scheduler', { from: '@plinth/scheduler' })

export { scheduledTaskFailed } from '@plinth/events'
