import type { Clock, Logger } from '@plinth/kernel'
import type { Engine } from '@plinth/scheduler'
import type { Artifacts } from './artifacts.ts'
import type { PublishFailure } from './failure-events.ts'
import { taskFailure } from './failures.ts'
import type { LeaseWatch } from './lease-watch.ts'
import type { IsActiveOwner } from './task-owners.ts'
import type { RunningTask, TaskEnd, TaskRows } from './task-rows.ts'
import type { TaskRunner } from './task-runner.ts'
import type { TaskTypes } from './task-types.ts'

export interface DispatchParts {
  readonly types: TaskTypes
  readonly rows: TaskRows
  readonly watch: LeaseWatch
  readonly runner: TaskRunner
  readonly artifacts: Artifacts
  readonly engine: Engine
  /** Tasks to dispatch in one look. */
  readonly offers: () => number
  /** When to look again at tasks that wait and have not begun, in milliseconds. */
  readonly pollMs: () => number
  readonly maxAttempts: () => number
  readonly publishFailure: PublishFailure
  readonly isActiveOwner: IsActiveOwner
  readonly clock: Clock
  readonly log: Logger
}

/** Looks at unfinished tasks: dispatches what waits, tells cancelled ones to end, takes lost ones over. */
export class TaskDispatch {
  readonly #parts: DispatchParts

  constructor(parts: DispatchParts) {
    this.#parts = parts
  }

  /** Answers the milliseconds after which there is something to do, as far as can be known now. */
  async look(): Promise<number> {
    const { types, rows, watch, runner, engine, offers, pollMs, isActiveOwner } = this.#parts
    const owners = new Map<number, Promise<boolean>>()
    const isActive = (ownerId: number) => {
      const known = owners.get(ownerId) ?? isActiveOwner(ownerId)
      owners.set(ownerId, known)
      return known
    }
    const waits = [Number.POSITIVE_INFINITY]
    for (const { task, leftMs } of watch.judge(await rows.running())) {
      if (rows.isOwn(task) && (task.cancelRequested || !(await isActive(task.ownerId)))) runner.cancel(task.id)
      if (runner.isRunning(task.id)) continue
      if (leftMs > 0) waits.push(leftMs)
      else await this.#takeAway(task)
    }
    const limit = offers()
    const waiting = limit > 0 ? await rows.queued(types.ids, limit) : []
    for (const { id, fence, beat } of waiting) {
      if (!runner.isRunning(id)) engine.dispatch(String(id), `${id}/${fence}/${beat}`)
    }
    if (waiting.length > 0) waits.push(pollMs())
    return Math.min(...waits)
  }

  async #takeAway(task: RunningTask): Promise<void> {
    const { rows, artifacts, publishFailure, log } = this.#parts
    const end = this.#endOf(task)
    const isTaken = await rows.takeAway(task, end, artifacts.disk, async () => {
      if (end?.failure !== undefined) await publishFailure(task, end.failure, end.failure.message)
    })
    if (!isTaken) return
    log.warn({ taskId: task.id, holder: task.holder, attempts: task.attempts }, 'task taken from a lost instance')
    if (end !== undefined) await artifacts.keepOnly(task.id, undefined)
  }

  /** `undefined` when it is to be tried again. */
  #endOf({ attempts, cancelRequested }: RunningTask): TaskEnd | undefined {
    if (cancelRequested) return { status: 'cancelled' }
    if (attempts < this.#parts.maxAttempts()) return undefined
    return { status: 'failed', failure: taskFailure('lost', { attempts }) }
  }
}
