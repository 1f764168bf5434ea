import type { Clock, FailureLog } from '@plinth/kernel'

/** How the time of a lease is divided; all in milliseconds. */
export interface LeaseTimes {
  /** Between two signs of life of the holder. */
  readonly beatMs: number
  /** Without a confirmed sign of life for this long, the holder gives up: the signal of its task aborts. */
  readonly giveUpMs: number
  /** Another instance that has seen no sign of life for this long takes over. */
  readonly lapseMs: number
  /** Longest pause between two looks of an instance at all leases. */
  readonly longestPollMs: number
  /** The same while nothing happens. */
  readonly longestIdleMs: number
}

/** Longer pauses would save nothing more, milliseconds. */
const idleMs = 5000

/**
 * A lease is judged by what an instance sees, never by comparing clocks of two machines: it lapses when its row stood
 * still for `lapseMs` by the monotonic clock of whoever looks. The holder counts from before it sent a sign of life that
 * was confirmed, so it gives up first; a fifth of the lease is left for its task to obey the signal. A tenth for noticing, three
 * twentieths where nothing happened for long, and the rest for the work of taking over keep the whole within the lease.
 */
export const leaseTimes = (leaseMs: number): LeaseTimes => ({
  beatMs: leaseMs * 0.15,
  giveUpMs: leaseMs * 0.5,
  lapseMs: leaseMs * 0.7,
  longestPollMs: leaseMs * 0.1,
  longestIdleMs: Math.min(idleMs, leaseMs * 0.15),
})

/** One moment on both clocks of a process. */
export interface Moment {
  readonly monotonic: number
  readonly wall: number
}

export const momentOf = (clock: Pick<Clock, 'now' | 'monotonic'>): Moment => ({
  monotonic: clock.monotonic(),
  wall: clock.now(),
})

/** The lease is no longer ours: it ran out, or somebody else has taken it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  constructor() {
    super('The lease was lost')
  }
}

export interface LeaseParts {
  readonly clock: Clock
  /** Milliseconds between two renewals. */
  readonly renewMs: number
  /** Milliseconds without a confirmed renewal after which the lease must be taken for lost. */
  readonly giveUpMs: number
  /**
   * Whether a renewal that is under way at that moment is waited for, and the lease is lost only when that fails. For leases
   * that end by a clock which the renewal itself asks; not for those that others judge by how long nothing changed.
   */
  readonly isJudgedByRenewal?: boolean
  /** Before the lease was asked for. */
  readonly heldSince: Moment
  /** Renews it, or shows a sign of life. False when the lease was lost; a failure says nothing. */
  readonly renew: () => Promise<boolean>
  readonly failures?: FailureLog
  /** Aborts when the lease need not be kept any longer, as `end` does. */
  readonly over?: AbortSignal
}

export interface KeptLease {
  /** Aborts with `LeaseLost` when the lease is lost, or when it must be taken for lost. */
  readonly lost: AbortSignal
  /** Aborts when it is lost or need not be kept any longer. */
  readonly over: AbortSignal
  /**
   * Renews it now when it may have run out unnoticed, as it does while a process is frozen.
   *
   * @throws LeaseLost, or what `renew` throws
   */
  confirm(): Promise<void>
  /** Keeps it no longer. */
  end(): void
}

/** Renews a lease until it ends, and tells when it is lost. */
export function keepLease({ clock, renewMs, giveUpMs, heldSince, renew, ...parts }: LeaseParts): KeptLease {
  const { isJudgedByRenewal = false, failures } = parts
  const ended = new AbortController()
  const lost = new AbortController()
  const over = AbortSignal.any([ended.signal, lost.signal, ...(parts.over === undefined ? [] : [parts.over])])
  let confirmedAt = heldSince
  const leftMs = () => confirmedAt.monotonic + giveUpMs - clock.monotonic()
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
        if (isJudgedByRenewal && leftMs() <= 0) lost.abort(new LeaseLost())
        else failures?.failed(error)
      })
    }
  }
  const guard = async () => {
    for (;;) {
      const left = leftMs()
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
      // A machine that sleeps stops the monotonic clock on some systems; the other one tells.
      const { monotonic, wall } = momentOf(clock)
      const age = Math.max(monotonic - confirmedAt.monotonic, Math.abs(wall - confirmedAt.wall))
      if (age >= giveUpMs / 2) await renewed()
    },
  }
}
