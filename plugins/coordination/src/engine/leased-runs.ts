import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import { type LeaseRenewal, type LeaseTimeLimits, startLeaseRenewal } from '../leases/keep-lease.ts'
import type { RowClaim } from '../leases/row-leases.ts'

const reasons = {
  released: 'The instance stops.',
  lost: 'The lease of the task was lost.',
  cancelled: 'The task was cancelled.',
  late: 'The task ran for too long.',
} as const
export type StopCause = keyof typeof reasons

export class LeasedRun {
  readonly #abort = new AbortController()
  #stopCause: StopCause | undefined
  /** True if the work has ended or was abandoned, even if the end is not stored yet. */
  hasEnded = false

  /** Aborts when the run must end. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Why the run was stopped, or `undefined`. */
  get stopCause(): StopCause | undefined {
    return this.#stopCause
  }

  /** Aborts the signal of the run. Later calls have no effect. */
  stop(cause: StopCause): void {
    if (this.#stopCause !== undefined || this.hasEnded) return
    this.#stopCause = cause
    this.#abort.abort(new Error(reasons[cause]))
  }
}

export interface LeasedRunsOptions<K, R extends LeasedRun> {
  /** Name of the work in log messages, for example `scheduled task`. */
  readonly subject: string
  /** Log fields that identify a run. */
  readonly about: (key: K) => object
  readonly newRun: () => R
  /**
   * Claims the work if it is due and runs it with `underLease`. Returns true if something changed, so that `onEnded` is
   * called.
   */
  readonly attempt: (key: K, run: R) => Promise<boolean>
  readonly concurrency: number
  readonly times: LeaseTimeLimits
  readonly clock: Clock
  readonly log: Logger
  readonly onEnded: () => void
}

/** The runs on this instance. Each run holds the lease of a row. */
export class LeasedRuns<K, R extends LeasedRun = LeasedRun> {
  readonly #parts: LeasedRunsOptions<K, R>
  readonly #runs = new Map<K, R>()
  readonly #ends = new Set<Promise<void>>()
  /** Logs only the first failure and the recovery, because attempts repeat while the database is unavailable. */
  readonly #begins: RepeatedFailureLog
  readonly #stopped = new AbortController()
  #isDraining = false

  constructor(parts: LeasedRunsOptions<K, R>) {
    this.#parts = parts
    const texts = { failing: `${parts.subject} could not be begun`, over: `${parts.subject} can be begun again` }
    this.#begins = new RepeatedFailureLog(parts.log, texts)
  }

  find(key: K): R | undefined {
    return this.#runs.get(key)
  }

  get free(): number {
    return this.#isDraining ? 0 : Math.max(0, this.#parts.concurrency - this.#runs.size)
  }

  /** Attempts a run. Resolves when the run has ended, or immediately if none begins. Never rejects. */
  async run(key: K): Promise<void> {
    // A run that lost its lease may still be running here. It must end before the next one begins.
    if (this.free === 0 || this.#runs.has(key)) return
    const { attempt, newRun, about, onEnded } = this.#parts
    const run = newRun()
    this.#runs.set(key, run)
    const end = attempt(key, run).then(
      (didRun) => {
        if (didRun) this.#begins.succeeded()
        return didRun
      },
      (error: unknown) => {
        this.#begins.failed(error, about(key))
        return false
      },
    )
    const settled = end.then((didRun) => {
      this.#runs.delete(key)
      this.#ends.delete(settled)
      if (didRun) onEnded()
    })
    this.#ends.add(settled)
    await settled
  }

  /** Runs the work while sending heartbeats. Stops the run if no heartbeat was confirmed for too long. */
  async underLease<T>(
    run: R,
    { key, claimedAt }: RowClaim<K>,
    renew: () => Promise<boolean>,
    work: (lease: LeaseRenewal) => Promise<T>,
  ): Promise<T> {
    const { subject, about, times, clock, log } = this.#parts
    const { beatMs: renewMs, giveUpMs } = times
    const over = this.#stopped.signal
    const lease = startLeaseRenewal({ clock, renewMs, giveUpMs, renew, over, heldSince: claimedAt })
    lease.lost.addEventListener('abort', () => {
      if (run.hasEnded) return
      log.error(about(key), `${subject} lost its lease and is aborted`)
      run.stop('lost')
    })
    try {
      return await work(lease)
    } finally {
      lease.end()
    }
  }

  /**
   * Stores the end of a run, and retries until the database accepts it. Otherwise the run would count as lost and be
   * repeated.
   *
   * @returns the result of `write`, or `undefined` if the instance stops first
   */
  async record<T>(key: K, write: () => Promise<T>): Promise<T | undefined> {
    const { subject, about, times, clock, log } = this.#parts
    const failures = new RepeatedFailureLog(log, {
      failing: `the end of a ${subject} cannot be recorded; trying again`,
      over: `the end of a ${subject} is recorded`,
    })
    for (;;) {
      try {
        const written = await write()
        failures.succeeded()
        return written
      } catch (error) {
        failures.failed(error, about(key))
        if (this.#stopped.signal.aborted) return undefined
        await clock.sleep(times.beatMs, this.#stopped.signal)
      }
    }
  }

  /**
   * Begins no more runs, stops the current ones and waits for them until the signal aborts.
   *
   * @throws Error that lists the runs that have not ended
   */
  async drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true
    for (const run of this.#runs.values()) run.stop('released')
    const late = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve())
    })
    await Promise.race([Promise.all(this.#ends), late])
    if (this.#runs.size === 0) return
    const { subject, about } = this.#parts
    const running = [...this.#runs.keys()].map((key) => JSON.stringify(about(key))).join(', ')
    throw new Error(`A ${subject} does not react to its stop signal: ${running}.`)
  }

  /** Stops sending heartbeats, so that other instances take over unfinished runs. */
  stop(): void {
    this.#stopped.abort()
  }
}
