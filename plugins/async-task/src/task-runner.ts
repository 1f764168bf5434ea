import { LeasedRuns, type LeaseTimeLimits } from '@plinth/coordination'
import type { Database } from '@plinth/database'
import { fitsSchema } from '@plinth/events'
import type { Accounts } from '@plinth/iam'
import { type Clock, errorReason, inSpan, type Logger, omitUndefined, type Tracer } from '@plinth/kernel'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Artifacts } from './artifacts.ts'
import type { TaskFailure, TaskLane } from './contract.ts'
import { businessError, type PublishFailure, toTaskFailure } from './declarations.ts'
import type { TaskRow } from './entities.ts'
import { LeasedTaskRun } from './run.ts'
import type { Claim, TaskEnd, TaskRows } from './task-rows.ts'
import type { TaskTypes } from './task-types.ts'

/** Returns true if the user is neither deleted nor disabled. Always true in a product without accounts. */
export type IsActiveOwner = (ownerId: number) => Promise<boolean>

export function createActiveOwnerCheck(accounts: Pick<Accounts, 'find'> | undefined): IsActiveOwner {
  if (accounts === undefined) return async () => true
  return async (ownerId) => (await accounts.find(ownerId))?.enabled === true
}

interface RunnerDependencies {
  readonly types: TaskTypes
  readonly rows: TaskRows
  readonly artifacts: Artifacts
  readonly times: LeaseTimeLimits
  readonly clock: Clock
  readonly log: Logger
  /** Maximum number of concurrent tasks of each lane. */
  readonly slots: Readonly<Record<TaskLane, number>>
  /** Maximum duration of a task in milliseconds, read when the task begins. */
  readonly deadlineMs: () => number
  readonly publishFailure: PublishFailure
  readonly metrics: RunMetrics | undefined
  readonly redact: (text: string) => string
  readonly isActiveOwner: IsActiveOwner
  readonly onEnded: () => void
  readonly tracer?: Tracer | undefined
}

interface Ended {
  readonly end: TaskEnd
  /** Error text for operators, without secrets. */
  readonly error?: string
}

/** Time in milliseconds for a handler to end after its signal aborted. A handler that still runs is abandoned. */
const graceMs = 30_000

/** Runs tasks on this instance. Each run holds the lease of its row. */
export class TaskRunner {
  readonly #parts: RunnerDependencies
  readonly runs: LeasedRuns<number, LeasedTaskRun>
  readonly #running: Readonly<Record<TaskLane, Set<number>>> = { database: new Set(), network: new Set() }

  constructor(parts: RunnerDependencies) {
    const { times, clock, log, slots, onEnded } = parts
    this.#parts = parts
    this.runs = new LeasedRuns({
      times,
      clock,
      log,
      concurrency: slots.database + slots.network,
      onEnded,
      subject: 'task',
      about: (taskId) => ({ taskId }),
      newRun: () => new LeasedTaskRun(clock),
      attempt: (taskId, run) => this.#attempt(taskId, run),
    })
  }

  /** Number of tasks of a lane that can begin now. */
  freeOf(lane: TaskLane): number {
    return Math.min(this.runs.free, Math.max(0, this.#parts.slots[lane] - this.#running[lane].size))
  }

  async #attempt(taskId: number, run: LeasedTaskRun): Promise<boolean> {
    const { rows, types } = this.#parts
    const seen = await rows.find(taskId)
    if (seen?.status !== 'queued' || types.find(seen.type) === undefined) return true
    const lane = types.laneOf(seen.type)
    // Another instance may have dispatched the task. It stays queued.
    if (this.#running[lane].size >= this.#parts.slots[lane]) return false
    this.#running[lane].add(taskId)
    try {
      return await this.#begin(seen, run)
    } finally {
      this.#running[lane].delete(taskId)
    }
  }

  async #begin(seen: TaskRow, run: LeasedTaskRun): Promise<boolean> {
    const { rows, isActiveOwner, log } = this.#parts
    const taskId = seen.id
    if (!(await isActiveOwner(seen.ownerId))) {
      if (await rows.cancelQueued(taskId))
        log.info({ taskId, ownerId: seen.ownerId }, 'a task was cancelled because its owner was disabled or deleted')
      return true
    }
    const claim = await rows.claim(seen)
    if (claim === undefined) return true
    const beat = () => rows.beat(claim, run.standing)
    await this.runs.underLease(run, claim, beat, async ({ over }) => {
      run.showProgress(beat, over)
      await this.#settle(seen, claim, run, await this.#execute(seen, claim, run))
    })
    return true
  }

  /** Calls the handler. Returns the end of the task, or `undefined` if the task is queued again. */
  async #execute(row: TaskRow, claim: Claim, run: LeasedTaskRun): Promise<Ended | undefined> {
    const { redact, log, tracer } = this.#parts
    const about = { taskId: row.id, type: row.type }
    const ended = new AbortController()
    let thrown: { readonly error: unknown } | undefined
    const span = { kind: 'consumer', startsTrace: true, attributes: { 'plinth.task_id': row.id } } as const
    const handle = () => this.#call(row, claim, run)
    const call = inSpan(tracer, `task ${row.type}`, span, handle).catch((error: unknown) => {
      thrown = { error }
    })
    this.#limit(run, ended.signal)
    await Promise.race([call, this.#abandoned(run, about, ended.signal)])
    run.hasEnded = true
    ended.abort()
    const { stopCause, artifact } = run
    if (stopCause === 'lost' || stopCause === 'released') return undefined
    if (stopCause === 'cancelled') return { end: { status: 'cancelled' } }
    if (stopCause === 'late') return failed(toTaskFailure(businessError('deadline')))
    if (thrown === undefined) return { end: omitUndefined({ status: 'succeeded', artifact }) }
    log.error({ ...about, err: thrown.error }, 'a task failed')
    const failure = toTaskFailure(thrown.error)
    return failed({ ...failure, message: redact(failure.message) }, redact(errorReason(thrown.error)))
  }

  async #call(row: TaskRow, claim: Claim, run: LeasedTaskRun): Promise<void> {
    const { types, artifacts } = this.#parts
    run.signal.throwIfAborted()
    const handled = types.find(row.type)
    const params: unknown = JSON.parse(row.params)
    if (handled === undefined || !fitsSchema(handled.type.params, params)) throw businessError('params-outdated')
    const context = run.context(row, (...file) => artifacts.write({ id: row.id, fence: claim.fence }, ...file))
    await handled.handler(params, context)
  }

  async #limit(run: LeasedTaskRun, ended: AbortSignal): Promise<void> {
    const { clock, deadlineMs } = this.#parts
    await clock.sleep(deadlineMs(), ended)
    if (!ended.aborted) run.stop('late')
  }

  /** Resolves if a handler does not end in time after its signal aborted. */
  async #abandoned(run: LeasedTaskRun, about: object, ended: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts
    await new Promise<void>((resolve) => {
      run.signal.addEventListener('abort', () => resolve())
      if (run.signal.aborted) resolve()
    })
    // Never resolves, because the handler must end here before another instance may begin.
    if (run.stopCause === 'lost' || run.stopCause === 'released') return new Promise<never>(() => {})
    await clock.sleep(graceMs, ended)
    if (!ended.aborted) log.error(about, 'a task does not react to its stop signal; its result will be ignored')
  }

  async #settle(row: TaskRow, claim: Claim, run: LeasedTaskRun, ended: Ended | undefined): Promise<void> {
    const { rows, metrics } = this.#parts
    const count = (outcome: RunOutcome) => metrics?.count(row.type, outcome)
    if (run.stopCause === 'lost') return count('lost')
    // Removes files now, because after the release another run may write files.
    if (ended === undefined) await this.#tidy(claim, undefined)
    const isRecorded = await this.runs.record(row.id, () =>
      ended === undefined ? rows.release(claim, this.#filesOf(run)) : this.#finish(row, claim, run, ended),
    )
    if (isRecorded === undefined) return
    count(isRecorded ? (ended?.end.status ?? 'released') : 'lost')
    if (isRecorded && ended !== undefined) await this.#tidy(claim, ended.end)
  }

  #finish(row: TaskRow, claim: Claim, run: LeasedTaskRun, { end, error }: Ended): Promise<boolean> {
    const { rows, publishFailure } = this.#parts
    return rows.finish(claim, end, run.standing, this.#filesOf(run), async () => {
      if (end.failure === undefined) return
      await publishFailure({ ...row, attempts: row.attempts + 1 }, end.failure, error ?? end.failure.message)
    })
  }

  #filesOf(run: LeasedTaskRun): string | undefined {
    return run.hasWritten ? this.#parts.artifacts.disk : undefined
  }

  async #tidy({ key: taskId, fence }: Claim, end: TaskEnd | undefined): Promise<void> {
    const { artifacts, log } = this.#parts
    await artifacts.keepOnly({ id: taskId, fence }, end?.artifact).catch((error: unknown) => {
      log.warn({ taskId, reason: errorReason(error) }, 'unused files of a task could not be removed')
    })
  }
}

const failed = (failure: TaskFailure, error?: string): Ended =>
  omitUndefined({
    end: { status: 'failed', failure },
    error,
  })

/** How a run ended. `released`: its instance stopped. `lost`: another instance took its task. */
export type RunOutcome = 'succeeded' | 'failed' | 'cancelled' | 'released' | 'lost'

export interface RunMetrics {
  count(type: string, outcome: RunOutcome): void
}

/**
 * Counts runs of this instance by type and outcome, and counts unfinished tasks when the registry is read. Types are
 * declared, so the number of series is limited.
 */
export function createRunMetrics(registry: Registry, db: Database): RunMetrics {
  const counter = new Counter({
    name: 'platform_async_task_runs_total',
    help: 'Runs of asynchronous tasks on this instance by type and outcome',
    labelNames: ['type', 'outcome'],
    registers: [registry],
  })
  new Gauge({
    name: 'platform_async_task_tasks',
    help: 'Asynchronous tasks that have not ended, by state',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const status of ['queued', 'running']) {
        // If the database fails, this metric is omitted and the other metrics are still returned.
        const rows = await db
          .query<{ total: number | string }>('select count(*) as total from async_task where status = ?', [status])
          .catch(() => [])
        for (const { total } of rows) this.set({ status }, Number(total))
      }
    },
  })
  return {
    count: (type, outcome) => counter.inc({ type, outcome }),
  }
}
