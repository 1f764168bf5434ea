import type { BoundScheduledTask, Clock } from '@plinth/kernel'
import type { TaskRow } from './entities.ts'
import type { LeaseTimes } from './lease-times.ts'

/** What is to be done with a task: `run` it, `take-away` its lapsed lease, or look again in so many milliseconds. */
export type Standing = { readonly action: 'run' | 'take-away' } | { readonly action: 'wait'; readonly ms: number }

interface Observation {
  readonly fence: number
  readonly beat: number
  /** When the row was first seen like this. */
  readonly since: number
  /** When a row was asked for that still was like this. */
  lastAsked: number
  /** When the last run ended; undefined when the task is due at once. */
  readonly endedAt: number | undefined
}

/**
 * Judges rows by when this instance saw them change, all on its own monotonic clock. The wall clock only tells how long
 * ago a run ended that was over before the first look, so a clock that is set back neither stalls tasks nor doubles runs.
 */
export class TaskWatch {
  readonly #clock: Clock
  readonly #times: LeaseTimes
  readonly #observations = new Map<string, Observation>()

  constructor(clock: Clock, times: LeaseTimes) {
    this.#clock = clock
    this.#times = times
  }

  /** @param askedAt `clock.monotonic` before the row was asked for */
  judge(task: BoundScheduledTask, row: TaskRow, askedAt: number): Standing {
    const now = this.#clock.monotonic()
    const { since, endedAt } = this.#observe(row, askedAt, now)
    if (row.holder != null) return waitOr('take-away', since + this.#times.lapseMs - now)
    if (row.requested) return { action: 'run' }
    if (row.paused || !task.autoStartup()) return { action: 'wait', ms: Number.POSITIVE_INFINITY }
    return endedAt === undefined ? { action: 'run' } : waitOr('run', endedAt + task.fixedDelayMs() - now)
  }

  #observe({ name, fence, beat, endedAt }: TaskRow, askedAt: number, now: number): Observation {
    const known = this.#observations.get(name)
    if (known?.fence === fence && known.beat === beat) {
      known.lastAsked = Math.max(known.lastAsked, askedAt)
      return known
    }
    // It cannot have ended before it was last seen in another state.
    const earliest = known?.lastAsked ?? Number.NEGATIVE_INFINITY
    const ended = endedAt == null ? undefined : now - Math.max(0, this.#clock.now() - endedAt.getTime())
    const observation: Observation = {
      ...{ fence, beat, since: now, lastAsked: askedAt },
      endedAt: ended === undefined ? undefined : Math.max(ended, earliest),
    }
    this.#observations.set(name, observation)
    return observation
  }
}

const waitOr = (action: 'run' | 'take-away', ms: number): Standing => (ms <= 0 ? { action } : { action: 'wait', ms })
