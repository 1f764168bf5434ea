import type { Clock, RepeatedFailureLog } from '@plinth/kernel'

/** Time limits of a lease in milliseconds. */
export interface LeaseTimeLimits {
  /** Interval of the heartbeats of the holder. */
  readonly beatMs: number
  /** After this time without a confirmed heartbeat, the holder stops its task. */
  readonly giveUpMs: number
  /** After this time without a heartbeat, another instance takes over. */
  readonly lapseMs: number
  /** Maximum pause between two polls of all leases. */
  readonly maxPollMs: number
  /** Maximum pause between two polls without activity. */
  readonly maxIdleMs: number
}

/** Maximum pause in milliseconds without activity. A longer pause would save almost nothing. */
const idleMs = 5000

/**
 * Returns the time limits of a lease. Clocks of different machines are never compared: a lease expires when an observer
 * has seen no change of its row for `lapseMs`. The holder counts from the time before its last confirmed heartbeat, so
 * it gives up earlier. A fifth of the lease remains for its task to stop. The rest is enough for another instance to
 * notice the expiry and take over.
 */
export const leaseTimeLimits = (leaseMs: number): LeaseTimeLimits => ({
  beatMs: leaseMs * 0.15,
  giveUpMs: leaseMs * 0.5,
  lapseMs: leaseMs * 0.7,
  maxPollMs: leaseMs * 0.1,
  maxIdleMs: Math.min(idleMs, leaseMs * 0.15),
})

/** One moment on the monotonic clock and on the wall clock of a process. */
export interface ClockReading {
  readonly monotonic: number
  readonly wall: number
}

export const readClocks = (clock: Pick<Clock, 'now' | 'monotonic'>): ClockReading => ({
  monotonic: clock.monotonic(),
  wall: clock.now(),
})

/** The lease has expired, or another holder has it. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
  constructor() {
    super('The lease was lost')
  }
}

export interface LeaseRenewalOptions {
  readonly clock: Clock
  /** Interval of the renewals in milliseconds. */
  readonly renewMs: number
  /** After this time in milliseconds without a confirmed renewal, the lease counts as lost. */
  readonly giveUpMs: number
  /**
   * If true, the lease is only lost if a pending renewal fails. Use it if the renewal itself checks the clock by which
   * the lease expires. Do not use it if other instances take over after a time without changes.
   */
  readonly isJudgedByRenewal?: boolean
  /** Moment before the lease was requested. */
  readonly heldSince: ClockReading
  /**
   * Renews the lease. Returns false if the lease was lost. If it throws, the lease may or may not be renewed, and the
   * renewal is attempted again.
   */
  readonly renew: () => Promise<boolean>
  readonly failures?: RepeatedFailureLog
  /** Aborts when the lease is no longer needed, like calling `end`. */
  readonly over?: AbortSignal
}

export interface LeaseRenewal {
  /** Aborts with `LeaseLostError` when the lease is lost or counts as lost. */
  readonly lost: AbortSignal
  /** Aborts when the lease is lost or no longer needed. */
  readonly over: AbortSignal
  /**
   * Renews the lease now if it may have expired unnoticed, for example while the process was suspended.
   *
   * @throws LeaseLostError or the error of `renew`
   */
  confirm(): Promise<void>
  end(): void
}

/** Renews a lease until it is no longer needed, and reports its loss. */
export function startLeaseRenewal({
  clock,
  renewMs,
  giveUpMs,
  heldSince,
  renew,
  ...parts
}: LeaseRenewalOptions): LeaseRenewal {
  const { isJudgedByRenewal = false, failures } = parts
  const ended = new AbortController()
  const lost = new AbortController()
  const over = AbortSignal.any([ended.signal, lost.signal, ...(parts.over === undefined ? [] : [parts.over])])
  let confirmedAt = heldSince
  const remainingMs = () => confirmedAt.monotonic + giveUpMs - clock.monotonic()
  const renewed = async () => {
    const askedAt = readClocks(clock)
    const isConfirmed = await renew()
    if (over.aborted) return lost.signal.throwIfAborted()
    if (!isConfirmed) lost.abort(new LeaseLostError())
    lost.signal.throwIfAborted()
    confirmedAt = askedAt
    failures?.succeeded()
  }
  const beats = async () => {
    for (;;) {
      await clock.sleep(renewMs, over)
      if (over.aborted) return
      await renewed().catch((error: unknown) => {
        if (over.aborted) return
        if (isJudgedByRenewal && remainingMs() <= 0) lost.abort(new LeaseLostError())
        else failures?.failed(error)
      })
    }
  }
  const guard = async () => {
    for (;;) {
      const left = remainingMs()
      if (left <= 0) return lost.abort(new LeaseLostError())
      await clock.sleep(left, over)
      if (over.aborted) return
    }
  }
  void beats()
  if (!isJudgedByRenewal) void guard()
  return {
    lost: lost.signal,
    over,
    end: () => ended.abort(),
    async confirm() {
      // Some systems stop the monotonic clock during sleep, so the wall clock is checked too.
      const { monotonic, wall } = readClocks(clock)
      const age = Math.max(monotonic - confirmedAt.monotonic, Math.abs(wall - confirmedAt.wall))
      if (age >= giveUpMs / 2) await renewed()
    },
  }
}
