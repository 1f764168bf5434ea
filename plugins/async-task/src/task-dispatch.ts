import type { Engine, LeasedRuns, UnchangedRowWatch } from '@plinth/coordination'
import type { Clock, Logger } from '@plinth/kernel'
import type { Artifacts } from './artifacts.ts'
import { type TaskLane, taskLanes } from './contract.ts'
import { businessError, type PublishFailure, toTaskFailure } from './declarations.ts'
import type { LeasedTaskRun } from './run.ts'
import type { RunningTask, TaskEnd, TaskRows } from './task-rows.ts'
import type { IsActiveOwner } from './task-runner.ts'
import type { TaskTypes } from './task-types.ts'

interface DispatchDependencies {
  readonly types: TaskTypes
  readonly rows: TaskRows
  readonly watch: UnchangedRowWatch<number>
  readonly runs: Pick<LeasedRuns<number, LeasedTaskRun>, 'find'>
  /** Returns the number of tasks of a lane that can begin now. */
  readonly freeOf: (lane: TaskLane) => number
  readonly artifacts: Artifacts
  readonly engine: Engine
  readonly maxAttempts: () => number
  readonly publishFailure: PublishFailure
  readonly isActiveOwner: IsActiveOwner
  readonly clock: Clock
  readonly log: Logger
}

/** Polls unfinished tasks: dispatches queued tasks, stops cancelled tasks and takes over lost ones. */
export class TaskDispatch {
  readonly #parts: DispatchDependencies

  constructor(parts: DispatchDependencies) {
    this.#parts = parts
  }

  async look(pollMs: number): Promise<number> {
    const { types, rows, watch, runs, freeOf, engine, isActiveOwner, clock } = this.#parts
    const owners = new Map<number, Promise<boolean>>()
    const isActive = (ownerId: number) => {
      const known = owners.get(ownerId) ?? isActiveOwner(ownerId)
      owners.set(ownerId, known)
      return known
    }
    const waits = [Number.POSITIVE_INFINITY]
    const askedAt = clock.monotonic()
    const running = await rows.running()
    watch.keepOnly(new Set(running.map(({ id }) => id)))
    const judged = running.map((task) => ({ task, remainingMs: watch.remainingMs(task.id, task, askedAt) }))
    for (const { task, remainingMs } of judged) {
      const run = runs.find(task.id)
      if (rows.isOwn(task) && (task.cancelRequested || !(await isActive(task.ownerId)))) run?.stop('cancelled')
      if (run !== undefined) continue
      if (remainingMs > 0) waits.push(remainingMs)
      else await this.#takeAway(task)
    }
    for (const lane of taskLanes) {
      const ids = types.idsOf(lane)
      const limit = engine.room(freeOf(lane))
      const waiting = limit > 0 && ids.length > 0 ? await rows.queued(ids, limit) : []
      for (const { id, fence, beat } of waiting) {
        if (runs.find(id) === undefined) engine.dispatch(String(id), `${id}/${fence}/${beat}`)
      }
      if (waiting.length > 0) waits.push(pollMs)
    }
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
    if (end !== undefined) await artifacts.keepOnly(task, undefined)
  }

  /** Returns the final state, or `undefined` if the task will be attempted again. */
  #endOf({ attempts, cancelRequested }: RunningTask): TaskEnd | undefined {
    if (cancelRequested) return { status: 'cancelled' }
    if (attempts < this.#parts.maxAttempts()) return undefined
    return { status: 'failed', failure: toTaskFailure(businessError('lost', { params: { attempts } })) }
  }
}
