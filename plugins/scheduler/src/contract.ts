import type { FoundPage, PageWindow } from '@plinth/database'
import { type LocalizedText, service } from '@plinth/kernel'

/** Why a run began: its delay was over, or somebody asked for it. */
export const runCauses = ['delay', 'request'] as const
export type RunCause = (typeof runCauses)[number]

/**
 * How a run ended. `aborted`: its signal aborted while it went on, because the instance stopped. `lost`: its instance
 * died or could not renew the lease, and another one took the task over.
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
  /** Null while it goes on. */
  readonly endedAt: Date | null
  /** Null while it goes on, and for a lost run. */
  readonly durationMs: number | null
  readonly outcome: RunOutcome | null
  /** Message of what a failed run threw, with secrets masked; 500 characters at most. */
  readonly error: string | null
}

export interface TaskState {
  readonly name: string
  readonly plugin: string
  readonly displayName: LocalizedText
  /** Milliseconds between the end of a run and the start of the next. */
  readonly fixedDelayMs: number
  /** Whether it runs by itself. */
  readonly autoStartup: boolean
  readonly paused: boolean
  readonly running: boolean
  /** Asked for, and not yet begun. */
  readonly requested: boolean
  readonly lastRun: TaskRun | null
  /** Null while it runs and when it does not run by itself. In the past when no worker has got to it yet. */
  readonly nextRunAt: Date | null
  /** Due for longer than an instance may take to show that it lives (`platform.scheduler.lease`), and nobody begins it. */
  readonly overdue: boolean
  /** It lets something expire, releases holds or deletes. */
  readonly irreversible: boolean
  /** Irreversible, and the instance that responds does not run it: its clock differs from the database's. */
  readonly heldBack: boolean
}

/** Which runs to list; all without a member. */
export interface RunFilter {
  readonly outcome?: RunOutcome | undefined
}

/**
 * The scheduled tasks of all plugins that are loaded in this process. Works in every role; the tasks themselves run in
 * processes with the role `worker`.
 */
export interface Scheduler {
  list(): Promise<readonly TaskState[]>
  /** @throws BusinessError `scheduler.task-unknown` */
  get(name: string): Promise<TaskState>
  /**
   * Asks for a run as soon as possible, also of a task that is paused or does not run by itself. The next worker that
   * looks takes it. Asking twice before it has begun is asking once.
   *
   * @throws BusinessError `scheduler.task-unknown`, `scheduler.task-running`
   */
  runNow(name: string): Promise<TaskState>
  /**
   * Keeps a task from running by itself, on all instances, until `resume`. A run that goes on is not disturbed.
   *
   * @throws BusinessError `scheduler.task-unknown`
   */
  pause(name: string): Promise<TaskState>
  /** @throws BusinessError `scheduler.task-unknown` */
  resume(name: string): Promise<TaskState>
  /**
   * Runs of one task.
   *
   * @param window the newest 20, not counted, as far as nothing else is said
   * @throws BusinessError `scheduler.task-unknown`; PlinthError `PLINTH_DATABASE_POSITION` for a position of another order
   */
  history(name: string, filter?: RunFilter, window?: Partial<PageWindow>): Promise<FoundPage<TaskRun>>
}

export const scheduler = service<Scheduler>('scheduler', { from: '@plinth/scheduler' })

export { scheduledTaskFailed } from '@plinth/events'
