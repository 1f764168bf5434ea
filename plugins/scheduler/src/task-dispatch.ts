import { type Engine, type LeasedRuns, UnchangedRowWatch } from '@plinth/coordination'
import type { DatabaseClock } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { BoundScheduledTask } from '@plinth/kernel/host'
import type { TaskRow } from './entities.ts'
import type { TaskRows } from './task-rows.ts'

/** Next action for a task: run it, take away its expired lease, or check it again after `ms` milliseconds. */
type NextAction = { readonly action: 'run' | 'take-away' } | { readonly action: 'wait'; readonly ms: number }

/**
 * Measures how long a row has been unchanged, with the monotonic clock of this instance. The wall clock is only used
 * for the age of a run that ended before the first poll. Therefore a clock that is set back neither delays tasks nor
 * causes double runs.
 */
export class UnchangedTaskWatch {
  readonly #clock: Clock
  readonly #leases: UnchangedRowWatch<string>

  /** @param lapseMs time in milliseconds without a change after which a lease expires */
  constructor(clock: Clock, { lapseMs }: { readonly lapseMs: number }) {
    this.#clock = clock
    this.#leases = new UnchangedRowWatch(clock, lapseMs)
  }

  /**
   * Returns the next action for a task.
   *
   * @param askedAt monotonic time before the row was read
   */
  judge(task: BoundScheduledTask, row: TaskRow, askedAt: number): NextAction {
    const { since, changedAfter } = this.#leases.see(row.name, row, askedAt)
    if (row.holder != null) return waitOr('take-away', this.#leases.remainingMs(row.name, row, askedAt))
    if (row.requested) return { action: 'run' }
    if (row.paused || !task.autoStartup()) return { action: 'wait', ms: Number.POSITIVE_INFINITY }
    if (row.endedAt == null) return { action: 'run' }
    // The run cannot have ended before the last read that found an earlier state.
    const endedAt = Math.max(since.monotonic - Math.max(0, since.wall - row.endedAt.getTime()), changedAfter)
    return waitOr('run', endedAt + task.fixedDelayMs() - this.#clock.monotonic())
  }
}

const waitOr = (action: 'run' | 'take-away', ms: number): NextAction => (ms <= 0 ? { action } : { action: 'wait', ms })

interface DispatchDependencies {
  readonly tasks: readonly BoundScheduledTask[]
  readonly rows: TaskRows
  readonly watch: UnchangedTaskWatch
  readonly runs: Pick<LeasedRuns<string>, 'find'>
  readonly engine: Engine
  readonly clock: DatabaseClock
  readonly log: Logger
}

/** Polls the rows of all tasks, dispatches due tasks and takes over lost ones. */
export class TaskDispatch {
  readonly #parts: DispatchDependencies
  /** Due tasks, each with its turn and the monotonic time since when it is due. */
  readonly #due = new Map<string, { readonly turn: string; readonly since: number }>()

  constructor(parts: DispatchDependencies) {
    this.#parts = parts
  }

  async look(pollMs: number): Promise<number> {
    const askedAt = this.#parts.clock.monotonic()
    const rows = new Map((await this.#parts.rows.all()).map((row) => [row.name, row]))
    const waits = [Number.POSITIVE_INFINITY]
    for (const task of this.#parts.tasks) {
      const wait = await this.#attend(task, rows.get(task.name), askedAt)
      waits.push(wait ?? pollMs)
    }
    return Math.min(...waits)
  }

  /** Returns the task that has been due longest and has not begun, or `undefined`. */
  overdue(): { readonly task: string; readonly ms: number } | undefined {
    const now = this.#parts.clock.monotonic()
    const [longest] = [...this.#due].sort(([, a], [, b]) => a.since - b.since)
    return longest && { task: longest[0], ms: now - longest[1].since }
  }

  /**
   * Takes the next action for a task. Returns the milliseconds until the following action, or `undefined` for a due
   * task, which the next regular poll checks again.
   */
  async #attend(task: BoundScheduledTask, row: TaskRow | undefined, askedAt: number): Promise<number | undefined> {
    const { rows, watch, runs, engine, clock, log } = this.#parts
    if (row === undefined) {
      await rows.ensure(task.name)
      return 0
    }
    const standing = watch.judge(task, row, askedAt)
    const turn = `${task.name}/${row.fence}/${row.beat}`
    const isDue = standing.action === 'run' && !isDelayedByClockProblem(task, clock)
    this.#noteDue(task.name, isDue ? turn : undefined, askedAt)
    if (standing.action === 'wait') return standing.ms
    if (standing.action === 'take-away') {
      const { holder } = row
      if (await rows.takeAway(row)) log.warn({ task: task.name, holder }, 'scheduled task taken from a lost instance')
      return 0
    }
    if (isDue && runs.find(task.name) === undefined) engine.dispatch(task.name, turn)
    return undefined
  }

  #noteDue(task: string, turn: string | undefined, now: number): void {
    if (turn === undefined) this.#due.delete(task)
    else if (this.#due.get(task)?.turn !== turn) this.#due.set(task, { turn, since: now })
  }
}

/** True for an irreversible task while the clock of this instance differs from that of the database. */
export const isDelayedByClockProblem = ({ irreversible }: BoundScheduledTask, { problem }: DatabaseClock): boolean =>
  irreversible && problem !== undefined
