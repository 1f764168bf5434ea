import type { Clock } from '@plinth/kernel'
import type { LeaseTimes } from '@plinth/scheduler'
import type { RunningTask } from './task-rows.ts'

/** Judges leases by when this instance saw their rows change, on its own monotonic clock. */
export class LeaseWatch {
  readonly #clock: Clock
  readonly #times: LeaseTimes
  #seen = new Map<number, { readonly fence: number; readonly beat: number; readonly since: number }>()

  constructor(clock: Clock, times: LeaseTimes) {
    this.#clock = clock
    this.#times = times
  }

  /**
   * Milliseconds until the lease of each task lapses, 0 or less when it has. Tasks that are not given any more are
   * forgotten.
   */
  judge(running: readonly RunningTask[]): readonly { readonly task: RunningTask; readonly leftMs: number }[] {
    const now = this.#clock.monotonic()
    const seen = new Map(
      running.map(({ id, fence, beat }) => {
        const known = this.#seen.get(id)
        const isUnchanged = known?.fence === fence && known.beat === beat
        return [id, { fence, beat, since: isUnchanged ? known.since : now }] as const
      }),
    )
    this.#seen = seen
    return running.map((task) => ({ task, leftMs: (seen.get(task.id)?.since ?? now) + this.#times.lapseMs - now }))
  }
}
