import type { Clock } from '@plinth/kernel'
import type { LeaseTimes } from './lease-times.ts'

export interface LeaseParts {
  readonly clock: Clock
  readonly times: LeaseTimes
  /** `clock.monotonic` before the lease was asked for. */
  readonly heldSince: number
  /** Shows a sign of life. False when the lease was lost; a failure says nothing. */
  readonly beat: () => Promise<boolean>
  /** Called when the lease is lost, or when it must be taken for lost; maybe more than once. */
  readonly onLost: () => void
  /** Aborts when the lease need not be kept any longer. */
  readonly over: AbortSignal
}

/** Shows signs of life for a lease, and tells when none was confirmed for too long. */
export function keepLease({ clock, times, heldSince, beat, onLost, over }: LeaseParts): void {
  let confirmedAt = heldSince
  const beats = async () => {
    for (;;) {
      await clock.sleep(times.beatMs, over)
      if (over.aborted) return
      const askedAt = clock.monotonic()
      const isConfirmed = await beat().catch(() => undefined)
      if (isConfirmed === true) confirmedAt = askedAt
      if (isConfirmed === false && !over.aborted) onLost()
    }
  }
  const guard = async () => {
    for (;;) {
      const left = confirmedAt + times.giveUpMs - clock.monotonic()
      if (left <= 0) return onLost()
      await clock.sleep(left, over)
      if (over.aborted) return
    }
  }
  void beats()
  void guard()
}
