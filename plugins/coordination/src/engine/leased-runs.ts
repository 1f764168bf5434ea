import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import { type KeptLease, keepLease, type LeaseTimes } from '../leases/keep-lease.ts'
import type { RowClaim } from '../leases/row-leases.ts'

/** Why a run is told to end. */
const reasons = {
  released: 'The instance stops.',
  lost: 'The lease of the task was lost.',
  cancelled: 'The task was cancelled.',
  late: 'The task ran for too long.',
} as const
export type StopCause = keyof typeof reasons

/** One run on this instance. */
export class LeasedRun {
  readonly #abort = new AbortController()
  #stopCause: StopCause | undefined
  /** The work itself has ended, or is left to itself; what is left is to record it. */
  hasEnded = false

  /** Aborts when the run is told to end. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** What the run was told to end for, if it was. */
  get stopCause(): StopCause | undefined {
    return this.#stopCause
  }

  /** Tells the work to end. The first cause counts. */
  stop(cause: StopCause): void {
    if (this.#stopCause !== undefined || this.hasEnded) return
    this.#stopCause = cause
    this.#abort.abort(new Error(reasons[cause]))
  }
}

export interface LeasedRunsParts<K, R extends LeasedRun> {
  /** What is run, for the log: `scheduled task`. */
  readonly subject: string
  /** Fields of the log that name one. */
  readonly about: (key: K) => object
  readonly newRun: () => R
  /** Claims what is due and runs it by `underLease`. Answers whether something changed, so that `onEnded` is called. */
  readonly attempt: (key: K, run: R) => Promise<boolean>
  /** Runs at a time. */
  readonly concurrency: number
  readonly times: LeaseTimes
  readonly clock: Clock
  readonly log: Logger
  /** Called after each run. */
  readonly onEnded: () => void
}

/** What runs on this instance, each under the lease of its row. */
export class LeasedRuns<K, R extends LeasedRun = LeasedRun> {
  readonly #parts: LeasedRunsParts<K, R>
  readonly #runs = new Map<K, R>()
  readonly #ends = new Set<Promise<void>>()
  /** Attempts repeat while the database is away, so a state is logged once. */
  readonly #begins: FailureLog
  readonly #stopped = new AbortController()
  #isDraining = false

  constructor(parts: LeasedRunsParts<K, R>) {
    this.#parts = parts
    const texts = { failing: `${parts.subject} could not be begun`, over: `${parts.subject} can be begun again` }
    this.#begins = new FailureLog(parts.log, texts)
  }

  find(key: K): R | undefined {
    return this.#runs.get(key)
  }

  /** Runs that could begin now. */
  get free(): number {
    return this.#isDraining ? 0 : Math.max(0, this.#parts.concurrency - this.#runs.size)
  }

  /** Settles when the run has ended, at once when none begins; never rejects. */
  async run(key: K): Promise<void> {
    // A run that lost its lease may still go on here: it must end before the next one begins.
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

  /** Works while signs of life are shown, and tells the run to end when none was confirmed for too long. */
  async underLease<T>(
    run: R,
    { key, claimedAt }: RowClaim<K>,
    renew: () => Promise<boolean>,
    work: (lease: KeptLease) => Promise<T>,
  ): Promise<T> {
    const { subject, about, times, clock, log } = this.#parts
    const { beatMs: renewMs, giveUpMs } = times
    const over = this.#stopped.signal
    const lease = keepLease({ clock, renewMs, giveUpMs, renew, over, heldSince: claimedAt })
    lease.lost.addEventListener('abort', () => {
      if (run.hasEnded) return
      log.error(about(key), `${subject} lost its lease; its signal aborts`)
      run.stop('lost')
    })
    try {
      return await work(lease)
    } finally {
      lease.end()
    }
  }

  /**
   * Writes how a run ended until the database takes it: otherwise the run would count as lost and be repeated.
   *
   * @returns what `write` answers; `undefined` when the instance stops before
   */
  async record<T>(key: K, write: () => Promise<T>): Promise<T | undefined> {
    const { subject, about, times, clock, log } = this.#parts
    const failures = new FailureLog(log, {
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

  /** Begins nothing more, tells what runs to end and waits for it, until the signal aborts. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true
    for (const run of this.#runs.values()) run.stop('released')
    const late = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve())
    })
    await Promise.race([Promise.all(this.#ends), late])
  }

  /** Shows no more signs of life: what still runs will be taken over by another instance. */
  stop(): void {
    this.#stopped.abort()
  }
}
