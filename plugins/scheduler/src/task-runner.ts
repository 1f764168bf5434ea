import { type BoundScheduledTask, type Clock, FailureLog, type Logger, reasonOf } from '@plinth/kernel'
import type { RunOutcome } from './contract.ts'
import type { PublishFailure } from './failure-events.ts'
import { keepLease } from './lease-keeper.ts'
import type { LeaseTimes } from './lease-times.ts'
import type { RunMetrics } from './run-metrics.ts'
import type { Claim, RunEnd, TaskRows } from './task-rows.ts'
import type { TaskWatch } from './task-watch.ts'

export interface RunnerParts {
  readonly rows: TaskRows
  readonly watch: TaskWatch
  readonly times: LeaseTimes
  readonly clock: Clock
  readonly log: Logger
  /** Masks secrets in texts. */
  readonly redact: (text: string) => string
  readonly metrics: RunMetrics | undefined
  readonly publishFailure: PublishFailure | undefined
  /** Runs kept per task. */
  readonly historySize: () => number
  /** Called after each run that this instance did. */
  readonly onEnded: () => void
}

/** A run of this instance. Its signal aborts with what ends it early. */
interface Run {
  readonly abort: AbortController
  isLost: boolean
  /** The task itself has ended; what is left is to record it. */
  hasEnded: boolean
}

const longestError = 500
/** History is trimmed once in so many runs. */
const trimEvery = 10

/** Runs tasks on this instance, each under the lease of its row. */
export class TaskRunner {
  readonly #parts: RunnerParts
  readonly #runs = new Map<string, Run>()
  readonly #ends = new Set<Promise<void>>()
  readonly #stopped = new AbortController()
  #isDraining = false

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  isRunning(task: string): boolean {
    return this.#runs.has(task)
  }

  /** Runs a task if it is due and no other instance is first. Settles when the run has ended; never rejects. */
  async run(task: BoundScheduledTask): Promise<void> {
    // A run that lost its lease may still go on here: it must end before the next one begins.
    if (this.#isDraining || this.#runs.has(task.name)) return
    const run: Run = { abort: new AbortController(), isLost: false, hasEnded: false }
    this.#runs.set(task.name, run)
    const end = this.#attempt(task, run).catch((error: unknown) => {
      this.#parts.log.error({ task: task.name, reason: reasonOf(error) }, 'scheduled task could not be begun')
      return false
    })
    const settled = end.then((didRun) => {
      this.#runs.delete(task.name)
      this.#ends.delete(settled)
      if (didRun) this.#parts.onEnded()
    })
    this.#ends.add(settled)
    await settled
  }

  /** Begins nothing more, aborts what runs and waits for its end, until the signal aborts. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true
    for (const { abort } of this.#runs.values()) abort.abort(new Error('The instance stops.'))
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

  async #attempt(task: BoundScheduledTask, run: Run): Promise<boolean> {
    const { rows, watch, clock } = this.#parts
    const askedAt = clock.monotonic()
    const seen = await rows.find(task.name)
    if (seen === null || watch.judge(task, seen, askedAt).action !== 'run') return false
    const claim = await rows.claim(seen, seen.requested ? 'request' : 'delay')
    if (claim === undefined) return false
    const ended = new AbortController()
    this.#keepLease(claim, run, ended.signal)
    try {
      const end = await this.#execute(task, run)
      run.hasEnded = true
      const isRecorded = await this.#release(claim, end)
      this.#parts.metrics?.observe(task.name, isRecorded ? end.outcome : 'lost', end.durationMs)
      if (claim.fence % trimEvery === 0) await this.#trim(task.name)
      return true
    } finally {
      ended.abort()
    }
  }

  /** Shows signs of life until the run has ended, and aborts it when none was confirmed for too long. */
  #keepLease(claim: Claim, run: Run, ended: AbortSignal): void {
    const { rows, clock, times, log } = this.#parts
    const lost = new AbortController()
    keepLease({
      clock,
      times,
      heldSince: claim.claimedAt,
      beat: () => rows.beat(claim),
      over: AbortSignal.any([ended, lost.signal, this.#stopped.signal]),
      onLost() {
        if (run.hasEnded) return
        run.isLost = true
        lost.abort()
        log.error({ task: claim.task }, 'scheduled task lost its lease; its signal aborts')
        run.abort.abort(new Error('The lease of the task was lost.'))
      },
    })
  }

  async #execute(task: BoundScheduledTask, run: Run): Promise<RunEnd> {
    const { clock, log, redact } = this.#parts
    const { signal } = run.abort
    const startedAt = clock.monotonic()
    const end = (outcome: RunOutcome, error: string | null = null): RunEnd => ({
      outcome: run.isLost ? 'lost' : signal.aborted ? 'aborted' : outcome,
      error,
      durationMs: clock.monotonic() - startedAt,
    })
    // The instance began to stop, or most of the lease went by, while it was asked for.
    if (signal.aborted) return end('aborted')
    try {
      await task.run(signal)
      return end('succeeded')
    } catch (error) {
      log.error({ task: task.name, err: error }, 'scheduled task failed')
      return end('failed', storable(redact(reasonOf(error))))
    }
  }

  /** Tries until the database takes it: otherwise the run would count as lost and be repeated. */
  async #release(claim: Claim, end: RunEnd): Promise<boolean> {
    const { rows, publishFailure, clock, times, log } = this.#parts
    const tell = async () => {
      if (end.outcome === 'failed') await publishFailure?.(claim, end.error ?? '')
    }
    const failures = new FailureLog(log, {
      failing: 'the end of a scheduled task cannot be recorded; trying again',
      over: 'the end of a scheduled task is recorded',
    })
    for (;;) {
      try {
        const isOurs = await rows.release(claim, end, tell)
        failures.succeeded()
        return isOurs
      } catch (error) {
        failures.failed(error, { task: claim.task })
        if (this.#stopped.signal.aborted) return false
        await clock.sleep(times.beatMs, this.#stopped.signal)
      }
    }
  }

  async #trim(task: string): Promise<void> {
    const { rows, historySize, log } = this.#parts
    await rows.trim(task, historySize()).catch((error: unknown) => {
      log.warn({ task, reason: reasonOf(error) }, 'old runs of a scheduled task could not be removed')
    })
  }
}

/** Cut to the column, without what PostgreSQL refuses in texts. */
const storable = (text: string) => [...text.replaceAll('\0', '').toWellFormed()].slice(0, longestError).join('')
