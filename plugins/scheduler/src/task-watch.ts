import { LeaseWatch } from '@plinth/coordination'
import type { BoundScheduledTask, Clock } from '@plinth/kernel'
import type { TaskRow } from './entities.ts'

/** What is to be done with a task: `run` it, `take-away` its lapsed lease, or look again in so many milliseconds. */
type Standing = { readonly action: 'run' | 'take-away' } | { readonly action: 'wait'; readonly ms: number }

/**
 * Judges rows by when this instance saw them change, all on its own monotonic clock. The wall clock only tells how long
 * ago a run ended that was over before the first look, so a clock that is set back neither stalls tasks nor doubles runs.
 */
export class TaskWatch {
  readonly #clock: Clock
  readonly #leases: LeaseWatch<string>

  /** @param lapseMs milliseconds for which a row stands still until its lease lapses */
  constructor(clock: Clock, { lapseMs }: { readonly lapseMs: number }) {
    this.#clock = clock
    this.#leases = new LeaseWatch(clock, lapseMs)
  }

  /** @param askedAt `clock.monotonic` before the row was asked for */
  judge(task: BoundScheduledTask, row: TaskRow, askedAt: number): Standing {
    const { since, changedAfter } = this.#leases.see(row.name, row, askedAt)
    if (row.holder != null) return waitOr('take-away', this.#leases.leftMs(row.name, row, askedAt))
    if (row.requested) return { action: 'run' }
    if (row.paused || !task.autoStartup()) return { action: 'wait', ms: Number.POSITIVE_INFINITY }
    if (row.endedAt == null) return { action: 'run' }
    // It cannot have ended before it was last seen in another state.
    const endedAt = Math.max(since.monotonic - Math.max(0, since.wall - row.endedAt.getTime()), changedAfter)
    return waitOr('run', endedAt + task.fixedDelayMs() - this.#clock.monotonic())
  }
}

const waitOr = (action: 'run' | 'take-away', ms: number): Standing => (ms <= 0 ? { action } : { action: 'wait', ms })
