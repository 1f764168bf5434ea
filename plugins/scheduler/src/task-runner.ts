import { LeasedRun, LeasedRuns, type LeaseTimes } from '@plinth/coordination'
import type { DatabaseClock } from '@plinth/database'
import { type BoundScheduledTask, columnText, type Logger, reasonOf } from '@plinth/kernel'
import type { RunOutcome } from './contract.ts'
import type { PublishFailure } from './failure-events.ts'
import type { RunMetrics } from './run-metrics.ts'
import type { RunEnd, TaskRows } from './task-rows.ts'
import type { TaskWatch } from './task-watch.ts'

interface RunnerParts {
  readonly tasks: readonly BoundScheduledTask[]
  readonly rows: TaskRows
  readonly watch: TaskWatch
  readonly times: LeaseTimes
  readonly clock: DatabaseClock
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

const longestError = 500
/** History is trimmed once in so many runs. */
const trimEvery = 10

/** Runs tasks on this instance, each under the lease of its row. */
export class TaskRunner {
  readonly #parts: RunnerParts
  readonly #byName: ReadonlyMap<string, BoundScheduledTask>
  readonly runs: LeasedRuns<string>

  constructor(parts: RunnerParts) {
    const { tasks, times, clock, log, onEnded } = parts
    this.#parts = parts
    this.#byName = new Map(tasks.map((task) => [task.name, task]))
    this.runs = new LeasedRuns({
      times,
      clock,
      log,
      onEnded,
      subject: 'scheduled task',
      concurrency: tasks.length,
      about: (task) => ({ task }),
      newRun: () => new LeasedRun(),
      attempt: (name, run) => this.#attempt(name, run),
    })
  }

  async #attempt(name: string, run: LeasedRun): Promise<boolean> {
    const { rows, watch, clock, metrics } = this.#parts
    const task = this.#byName.get(name)
    const askedAt = clock.monotonic()
    const seen = await rows.find(name)
    if (task === undefined || seen === null || watch.judge(task, seen, askedAt).action !== 'run') return false
    // Another instance, whose clock agrees with the database's, may run it.
    if (task.irreversible && (await clock.check()) !== undefined) return false
    const claim = await rows.claim(seen, seen.requested ? 'request' : 'delay')
    if (claim === undefined) return false
    await this.runs.underLease(
      run,
      claim,
      () => rows.beat(claim),
      async () => {
        const end = await this.#execute(task, run)
        run.hasEnded = true
        const publish = async () => {
          if (end.outcome === 'failed') await this.#parts.publishFailure?.(claim, end.error ?? '')
        }
        const isRecorded = await this.runs.record(name, () => rows.release(claim, end, publish))
        metrics?.observe(name, isRecorded === true ? end.outcome : 'lost', end.durationMs)
        if (claim.fence % trimEvery === 0) await this.#trim(name)
      },
    )
    return true
  }

  async #execute(task: BoundScheduledTask, run: LeasedRun): Promise<RunEnd> {
    const { clock, log, redact } = this.#parts
    const { signal } = run
    const startedAt = clock.monotonic()
    const end = (outcome: RunOutcome, error: string | null = null): RunEnd => ({
      outcome: run.stopCause === 'lost' ? 'lost' : signal.aborted ? 'aborted' : outcome,
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
      return end('failed', columnText(redact(reasonOf(error)), longestError))
    }
  }

  async #trim(task: string): Promise<void> {
    const { rows, historySize, log } = this.#parts
    await rows.trim(task, historySize()).catch((error: unknown) => {
      log.warn({ task, reason: reasonOf(error) }, 'old runs of a scheduled task could not be removed')
    })
  }
}
