import { LeasedRun, LeasedRuns, type LeaseTimeLimits } from '@plinth/coordination'
import { type Database, type DatabaseClock, exactInteger } from '@plinth/database'
import type { Events } from '@plinth/events'
import { errorReason, fitTextToColumn, inSpan, type Logger, type Tracer } from '@plinth/kernel'
import type { BoundScheduledTask } from '@plinth/kernel/host'
import { Counter, Gauge, type Registry } from 'prom-client'
import { type RunOutcome, scheduledTaskFailed } from './contract.ts'
import type { UnchangedTaskWatch } from './task-dispatch.ts'
import type { Claim, RunEnd, TaskRows } from './task-rows.ts'

/** Publishes the failure of a run. Must be called in the transaction that records it. */
type PublishFailure = (claim: Claim, error: string) => Promise<void>

export function createFailurePublisher(bus: Events, db: Database): PublishFailure {
  return async ({ key: task, startedAt }, error) => {
    const [row] = await db.query<{ total: number | string }>(
      `select count(*) as total from scheduler_run where task = ? and outcome = 'failed'
         and id > (select coalesce(max(id), 0) from scheduler_run where task = ? and outcome = 'succeeded')`,
      [task, task],
    )
    await bus.publish(scheduledTaskFailed, {
      task,
      error,
      startedAt: startedAt.toISOString(),
      consecutiveFailures: exactInteger(row?.total),
    })
  }
}

interface RunMetrics {
  observe(task: string, outcome: RunOutcome, durationMs: number): void
}

/**
 * Counts runs and their duration by task and outcome. Tasks are declared, so the number of series is limited.
 *
 * @param overdueMs returns how long in milliseconds the longest overdue task has waited
 */
export function createRunMetrics(registry: Registry, overdueMs: () => number): RunMetrics {
  const of = { labelNames: ['task', 'outcome'] as const, registers: [registry] }
  const runs = new Counter({
    ...of,
    name: 'scheduler_task_runs_total',
    help: 'Runs of scheduled tasks on this instance by task and outcome',
  })
  const seconds = new Counter({
    ...of,
    name: 'scheduler_task_run_seconds_total',
    help: 'Seconds that runs of scheduled tasks took on this instance by task and outcome',
  })
  new Gauge({
    name: 'scheduler_task_overdue_seconds',
    help: 'Seconds that the task has waited which is due longest and has not begun, as this instance sees it',
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set(overdueMs() / 1000)
    },
  })
  return {
    observe(task, outcome, durationMs) {
      runs.inc({ task, outcome })
      seconds.inc({ task, outcome }, durationMs / 1000)
    },
  }
}

interface RunnerDependencies {
  readonly tasks: readonly BoundScheduledTask[]
  readonly rows: TaskRows
  readonly watch: UnchangedTaskWatch
  readonly times: LeaseTimeLimits
  readonly clock: DatabaseClock
  readonly log: Logger
  readonly redact: (text: string) => string
  readonly metrics: RunMetrics | undefined
  readonly publishFailure: PublishFailure | undefined
  readonly historySize: () => number
  readonly onEnded: () => void
  readonly tracer?: Tracer | undefined
}

const maxErrorLength = 500
/** The history of a task is shortened after every tenth run. */
const trimEvery = 10

/** Runs tasks on this instance. Each run holds the lease of its row. */
export class TaskRunner {
  readonly #parts: RunnerDependencies
  readonly #byName: ReadonlyMap<string, BoundScheduledTask>
  readonly runs: LeasedRuns<string>

  constructor(parts: RunnerDependencies) {
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
      about: (task) => ({ task, owner: this.#byName.get(task)?.plugin }),
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
    // The clock of this instance is wrong. Another instance with a correct clock may run the task.
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
    const { clock, log, redact, tracer } = this.#parts
    const { signal } = run
    const startedAt = clock.monotonic()
    const end = (outcome: RunOutcome, error: string | null = null): RunEnd => ({
      outcome: run.stopCause === 'lost' ? 'lost' : signal.aborted ? 'aborted' : outcome,
      error,
      durationMs: clock.monotonic() - startedAt,
    })
    // While the task was claimed, the instance began to stop, or too much of the lease passed.
    if (signal.aborted) return end('aborted')
    try {
      const span = { startsTrace: true, attributes: { 'plinth.plugin': task.plugin } }
      await inSpan(tracer, `scheduled task ${task.name}`, span, async () => task.run(signal))
      return end('succeeded')
    } catch (error) {
      log.error({ task: task.name, err: error }, 'scheduled task failed')
      return end('failed', fitTextToColumn(redact(errorReason(error)), maxErrorLength))
    }
  }

  async #trim(task: string): Promise<void> {
    const { rows, historySize, log } = this.#parts
    await rows.trim(task, historySize()).catch((error: unknown) => {
      log.warn({ task, reason: errorReason(error) }, 'old runs of a scheduled task could not be removed')
    })
  }
}
