import { type Clock, FailureLog, type Logger, reasonOf } from '@plinth/kernel'
import { keepLease, type LeaseTimes } from '@plinth/scheduler'
import type { Artifacts } from './artifacts.ts'
import type { TaskFailure } from './contract.ts'
import type { TaskRow } from './entities.ts'
import type { PublishFailure } from './failure-events.ts'
import { failureOf, paramsOutdated, taskFailure } from './failures.ts'
import { Run } from './run.ts'
import type { RunMetrics, RunOutcome } from './run-metrics.ts'
import type { IsActiveOwner } from './task-owners.ts'
import type { Claim, TaskEnd, TaskRows } from './task-rows.ts'
import type { TaskTypes } from './task-types.ts'

export interface RunnerParts {
  readonly types: TaskTypes
  readonly rows: TaskRows
  readonly artifacts: Artifacts
  readonly times: LeaseTimes
  readonly clock: Clock
  readonly log: Logger
  /** Tasks at a time. */
  readonly concurrency: number
  /** How long a task may run, in milliseconds; read when it begins. */
  readonly deadlineMs: () => number
  readonly publishFailure: PublishFailure
  readonly metrics: RunMetrics | undefined
  /** Masks secrets in texts. */
  readonly redact: (text: string) => string
  readonly isActiveOwner: IsActiveOwner
  /** Called after each run of this instance. */
  readonly onEnded: () => void
}

interface Ended {
  readonly end: TaskEnd
  /** What a handler threw, for operators; without secrets. */
  readonly error?: string
}

/** A handler that does not end this long after it was told to is left to itself. */
const graceMs = 30_000

/** Runs tasks on this instance, each under the lease of its row. */
export class TaskRunner {
  readonly #parts: RunnerParts
  readonly #runs = new Map<number, Run>()
  readonly #ends = new Set<Promise<void>>()
  readonly #stopped = new AbortController()
  #isDraining = false

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  isRunning(taskId: number): boolean {
    return this.#runs.has(taskId)
  }

  get free(): number {
    return this.#isDraining ? 0 : Math.max(0, this.#parts.concurrency - this.#runs.size)
  }

  /** Runs a task if it waits and no other instance is first. Settles when the run has ended; never rejects. */
  async run(taskId: number): Promise<void> {
    // A run that lost its lease may still go on here: it must end before the next one begins.
    if (this.free === 0 || this.#runs.has(taskId)) return
    const run = new Run(this.#parts.clock)
    this.#runs.set(taskId, run)
    const end = this.#attempt(taskId, run).then(
      () => true,
      (error: unknown) => {
        this.#parts.log.error({ taskId, reason: reasonOf(error) }, 'a task could not be begun')
        return false
      },
    )
    const settled = end.then((isSettled) => {
      this.#runs.delete(taskId)
      this.#ends.delete(settled)
      if (isSettled) this.#parts.onEnded()
    })
    this.#ends.add(settled)
    await settled
  }

  /** Tells a task of this instance to end, because its owner does not want it any more. */
  cancel(taskId: number): void {
    this.#runs.get(taskId)?.stop('cancelled')
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

  async #attempt(taskId: number, run: Run): Promise<void> {
    const { rows, types, isActiveOwner, log } = this.#parts
    const seen = await rows.find(taskId)
    if (seen?.status !== 'queued' || types.find(seen.type) === undefined) return
    if (!(await isActiveOwner(seen.ownerId))) {
      if (await rows.cancelQueued(taskId)) log.info({ taskId, ownerId: seen.ownerId }, 'a task ends with its user')
      return
    }
    const claim = await rows.claim(seen)
    if (claim === undefined) return
    const ended = new AbortController()
    this.#keepLease(claim, run, ended.signal)
    try {
      await this.#settle(seen, claim, run, await this.#execute(seen, claim, run))
    } finally {
      ended.abort()
    }
  }

  /** Shows signs of life until the run has ended, and aborts it when none was confirmed for too long. */
  #keepLease(claim: Claim, run: Run, ended: AbortSignal): void {
    const { rows, clock, times, log } = this.#parts
    const lost = new AbortController()
    const over = AbortSignal.any([ended, lost.signal, this.#stopped.signal])
    const beat = () => rows.beat(claim, run.standing)
    keepLease({
      ...{ clock, times, heldSince: claim.claimedAt, beat, over },
      onLost() {
        if (run.hasEnded) return
        lost.abort()
        log.error({ taskId: claim.id }, 'a task lost its lease; its signal aborts')
        run.stop('lost')
      },
    })
    run.showProgress(beat, over)
  }

  /** Calls the handler and answers how the task ended; `undefined` when it goes back to the queue. */
  async #execute(row: TaskRow, claim: Claim, run: Run): Promise<Ended | undefined> {
    const { redact, log } = this.#parts
    const about = { taskId: row.id, type: row.type }
    const ended = new AbortController()
    let thrown: { readonly error: unknown } | undefined
    const call = this.#call(row, claim, run).catch((error: unknown) => {
      thrown = { error }
    })
    this.#limit(run, ended.signal)
    await Promise.race([call, this.#abandoned(run, about, ended.signal)])
    run.hasEnded = true
    ended.abort()
    const { stopCause, artifact } = run
    if (stopCause === 'lost' || stopCause === 'released') return undefined
    if (stopCause === 'cancelled') return { end: { status: 'cancelled' } }
    if (stopCause === 'late') return failed(taskFailure('deadline'))
    if (thrown === undefined) return { end: { status: 'succeeded', ...(artifact === undefined ? {} : { artifact }) } }
    log.error({ ...about, err: thrown.error }, 'a task failed')
    const failure = failureOf(thrown.error)
    return failed({ ...failure, message: redact(failure.message) }, redact(reasonOf(thrown.error)))
  }

  async #call(row: TaskRow, claim: Claim, run: Run): Promise<void> {
    const { types, artifacts } = this.#parts
    run.signal.throwIfAborted()
    const handled = types.find(row.type)
    const params: unknown = JSON.parse(row.params)
    if (handled === undefined || !handled.validator.Check(params)) throw paramsOutdated()
    const context = run.context(row, (...file) => artifacts.write(claim, ...file))
    await handled.handler(params, context)
  }

  /** Tells a run to end that takes too long. */
  async #limit(run: Run, ended: AbortSignal): Promise<void> {
    const { clock, deadlineMs } = this.#parts
    await clock.sleep(deadlineMs(), ended)
    if (!ended.aborted) run.stop('late')
  }

  /** Resolves when a handler has had its time to end and goes on all the same. */
  async #abandoned(run: Run, about: object, ended: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts
    await run.stopped
    // Before another instance may begin, the handler must have ended here.
    if (run.stopCause === 'lost' || run.stopCause === 'released') return new Promise<never>(() => {})
    await clock.sleep(graceMs, ended)
    if (!ended.aborted) log.error(about, 'a task goes on although it was told to end; it is left to itself')
  }

  /** Records the end, until the database takes it: otherwise the run would count as lost and be repeated. */
  async #settle(row: TaskRow, claim: Claim, run: Run, ended: Ended | undefined): Promise<void> {
    const { rows, clock, times, log, metrics } = this.#parts
    const count = (outcome: RunOutcome) => metrics?.count(row.type, outcome)
    if (run.stopCause === 'lost') return count('lost')
    // Once it is released another run may write.
    if (ended === undefined) await this.#tidy(row.id, undefined)
    const failures = new FailureLog(log, {
      failing: 'the end of a task cannot be recorded; trying again',
      over: 'the end of a task is recorded',
    })
    for (;;) {
      try {
        const isRecorded = await (ended === undefined
          ? rows.release(claim, this.#filesOf(run))
          : this.#finish(row, claim, run, ended))
        failures.succeeded()
        count(isRecorded ? (ended?.end.status ?? 'released') : 'lost')
        if (isRecorded && ended !== undefined) await this.#tidy(row.id, ended.end)
        return
      } catch (error) {
        failures.failed(error, { taskId: row.id })
        if (this.#stopped.signal.aborted) return
        await clock.sleep(times.beatMs, this.#stopped.signal)
      }
    }
  }

  #finish(row: TaskRow, claim: Claim, run: Run, { end, error }: Ended): Promise<boolean> {
    const { rows, publishFailure } = this.#parts
    return rows.finish(claim, end, run.standing, this.#filesOf(run), async () => {
      if (end.failure === undefined) return
      await publishFailure({ ...row, attempts: row.attempts + 1 }, end.failure, error ?? end.failure.message)
    })
  }

  /** Disk on which a run may have left files. */
  #filesOf(run: Run): string | undefined {
    return run.hasWritten ? this.#parts.artifacts.disk : undefined
  }

  async #tidy(taskId: number, end: TaskEnd | undefined): Promise<void> {
    const { artifacts, log } = this.#parts
    await artifacts.keepOnly(taskId, end?.artifact).catch((error: unknown) => {
      log.warn({ taskId, reason: reasonOf(error) }, 'files of a task that nobody needs could not be removed')
    })
  }
}

const failed = (failure: TaskFailure, error?: string): Ended => ({
  end: { status: 'failed', failure },
  ...(error === undefined ? {} : { error }),
})
