import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import { type Claim, LeaseLost, type OutboxStore } from './outbox-store.ts'

export interface KeptLease {
  /** Aborts with `LeaseLost` when the lease is lost. */
  readonly lost: AbortSignal
  /**
   * Asks the database when the lease may have run out unnoticed, as it does while a process is frozen.
   *
   * @throws LeaseLost, or what the database throws
   */
  confirm(): Promise<void>
  end(): void
}

/**
 * Renews the lease of an event until `end` is called.
 *
 * @param claimedAt the clock before the claim was sent: the lease lasts at least for its time from there
 */
export function keepLease(
  { store, clock, log }: { readonly store: OutboxStore; readonly clock: Clock; readonly log: Logger },
  claim: Claim,
  leaseMs: number,
  claimedAt: Moment,
): KeptLease {
  const ended = new AbortController()
  const lost = new AbortController()
  let confirmedAt = claimedAt
  const failures = new FailureLog(log, {
    failing: 'the lease of an event cannot be renewed; trying again',
    over: 'the lease of an event is renewed again',
  })
  const renew = async () => {
    const askedAt = momentOf(clock)
    await store.renew(claim, leaseMs)
    confirmedAt = askedAt
    failures.succeeded()
  }
  const keep = async () => {
    while (true) {
      await clock.sleep(leaseMs / 3, ended.signal)
      if (ended.signal.aborted) return
      try {
        await renew()
      } catch (error) {
        if (ended.signal.aborted) return
        const isOver = clock.monotonic() - confirmedAt.monotonic >= leaseMs
        if (error instanceof LeaseLost || isOver) return lost.abort(new LeaseLost())
        failures.failed(error, { event: claim.id })
      }
    }
  }
  void keep()
  return {
    lost: lost.signal,
    end: () => ended.abort(),
    async confirm() {
      // A machine that sleeps stops the monotonic clock on some systems; the other one tells.
      const { monotonic, wall } = momentOf(clock)
      const age = Math.max(monotonic - confirmedAt.monotonic, Math.abs(wall - confirmedAt.wall))
      if (age >= leaseMs / 2) await renew()
    },
  }
}

/** One moment on both clocks. */
export interface Moment {
  readonly monotonic: number
  readonly wall: number
}

export const momentOf = (clock: Clock): Moment => ({ monotonic: clock.monotonic(), wall: clock.now() })
