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
