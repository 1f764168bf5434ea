import type { Clock, FailureLog } from '@plinth/kernel'

/** Time limits of a lease, all in milliseconds. */
export interface LeaseTimes {
  /** Interval between two heartbeats of the holder. */
  readonly beatMs: number
  /** After this time without a confirmed heartbeat, the signal of the holder's task aborts. */
  readonly giveUpMs: number
  /** After this time without a heartbeat, another instance takes over. */
  readonly lapseMs: number
  /** Maximum pause between two polls of all leases. */
  readonly maxPollMs: number
  /** Maximum pause while there is no activity. */
  readonly maxIdleMs: number
}

/** Maximum pause while there is no activity, milliseconds. A longer pause would save almost no work. */
const idleMs = 5000

/**
 * Returns the time limits of a lease. Instances never compare the clocks of two machines: a lease expires when its
 * row has not changed for `lapseMs` on the monotonic clock of the observer. The holder measures from before it sent its
 * last confirmed heartbeat, so its limit ends first. One fifth of the lease remains for the task to react to the
 * signal. A tenth to notice the expiry (three twentieths after a time without activity) and the rest for the takeover
 * keep the total within the lease.
 */
export const leaseTimes = (leaseMs: number): LeaseTimes => ({
  beatMs: leaseMs * 0.15,
  giveUpMs: leaseMs * 0.5,
  lapseMs: leaseMs * 0.7,
  maxPollMs: leaseMs * 0.1,
  maxIdleMs: Math.min(idleMs, leaseMs * 0.15),
})

/** One moment on the monotonic clock and the wall clock of a process. */
export interface Moment {
  readonly monotonic: number
  readonly wall: number
}

export const momentOf = (clock: Pick<Clock, 'now' | 'monotonic'>): Moment => ({
  monotonic: clock.monotonic(),
  wall: clock.now(),
})

/** The lease has expired, or another holder has it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  constructor() {
    super('The lease was lost')
  }
}

export interface LeaseParts {
  readonly clock: Clock
  /** Interval between two renewals, milliseconds. */
  readonly renewMs: number
  /** After this time without a confirmed renewal, the lease counts as lost; milliseconds. */
  readonly giveUpMs: number
  /**
   * If true, a pending renewal is awaited, and the lease is lost only if that renewal fails. Set it if the lease
   * expires by a clock that the renewal checks. Do not set it if other instances judge the lease by the time without a
   * change.
   */
  readonly isJudgedByRenewal?: boolean
  /** A moment before the lease was requested. */
  readonly heldSince: Moment
  /**
   * Renews the lease or sends a heartbeat. Returns false if the lease was lost. If it throws, it is unknown whether the
   * lease was renewed, and the renewal is attempted again.
   */
  readonly renew: () => Promise<boolean>
  readonly failures?: FailureLog
  /** Aborts when the lease is no longer needed, like `end`. */
  readonly over?: AbortSignal
}

export interface KeptLease {
  /** Aborts with `LeaseLost` when the lease is lost or counts as lost. */
  readonly lost: AbortSignal
  /** Aborts when the lease is lost or no longer needed. */
  readonly over: AbortSignal
  /**
   * Renews the lease now if it may have expired unnoticed, for example while the process was frozen.
   *
   * @throws LeaseLost or the error of `renew`
   */
  confirm(): Promise<void>
  /** Stops the renewals. */
  end(): void
}

/** Renews a lease until it ends, and reports its loss. */
export function keepLease({ clock, renewMs, giveUpMs, heldSince, renew, ...parts }: LeaseParts): KeptLease {
  const { isJudgedByRenewal = false, failures } = parts
  const ended = new AbortController()
  const lost = new AbortController()
  const over = AbortSignal.any([ended.signal, lost.signal, ...(parts.over === undefined ? [] : [parts.over])])
  let confirmedAt = heldSince
  const remainingMs = () => confirmedAt.monotonic + giveUpMs - clock.monotonic()
  const renewed = async () => {
    const askedAt = momentOf(clock)
    const isConfirmed = await renew()
    if (over.aborted) return lost.signal.throwIfAborted()
    if (!isConfirmed) lost.abort(new LeaseLost())
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
        if (isJudgedByRenewal && remainingMs() <= 0) lost.abort(new LeaseLost())
        else failures?.failed(error)
      })
    }
  }
  const guard = async () => {
    for (;;) {
      const left = remainingMs()
      if (left <= 0) return lost.abort(new LeaseLost())
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
      // Some systems stop the monotonic clock during sleep. The wall clock shows it.
      const { monotonic, wall } = momentOf(clock)
      const age = Math.max(monotonic - confirmedAt.monotonic, Math.abs(wall - confirmedAt.wall))
      if (age >= giveUpMs / 2) await renewed()
    },
  }
}
