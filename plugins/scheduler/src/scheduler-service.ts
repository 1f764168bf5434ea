import { type Database, type DatabaseClock, type FoundPage, findPage, type PageWindow } from '@plinth/database'
import type { BoundScheduledTask } from '@plinth/kernel/host'
import type { RunFilter, Scheduler, TaskRun, TaskState } from './contract.ts'
import { businessError } from './declarations.ts'
import { RunRow, type TaskRow } from './entities.ts'
import { isDelayedByClockProblem } from './task-dispatch.ts'
import type { TaskRows } from './task-rows.ts'

interface ServiceDependencies {
  readonly tasks: readonly BoundScheduledTask[]
  readonly rows: TaskRows
  readonly db: Database
  readonly clock: DatabaseClock
  readonly leaseMs: number
  readonly onChanged: () => void
}

const newest: PageWindow = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' }

type Together = () => Promise<void>

export class SchedulerService implements Scheduler {
  readonly #parts: ServiceDependencies

  constructor(parts: ServiceDependencies) {
    this.#parts = parts
  }

  async list(): Promise<readonly TaskState[]> {
    const { db, tasks, rows } = this.#parts
    const byName = new Map((await rows.all()).map((row) => [row.name, row]))
    const ids = [...byName.values()].flatMap(({ runId }) => runId ?? [])
    const runs = new Map((await db.fork().find(RunRow, { id: { $in: ids } })).map((run) => [run.id, run]))
    return tasks.map((task) => {
      const row = byName.get(task.name)
      return this.#state(task, row, runs.get(row?.runId ?? 0))
    })
  }

  async get(name: string): Promise<TaskState> {
    const task = this.#task(name)
    const row = (await this.#parts.rows.find(name)) ?? undefined
    const run = row?.runId == null ? null : await this.#parts.db.fork().findOne(RunRow, { id: row.runId })
    return this.#state(task, row, run ?? undefined)
  }

  /** @param together runs in the same transaction; also for `pause` and `resume` */
  runNow(name: string, together?: Together): Promise<TaskState> {
    const request = async () => {
      if (!(await this.#parts.rows.request(name))) throw businessError('task-running', { params: { task: name } })
    }
    return this.#change(name, request, together)
  }

  pause(name: string, together?: Together): Promise<TaskState> {
    return this.#change(name, () => this.#parts.rows.setPaused(name, true), together)
  }

  resume(name: string, together?: Together): Promise<TaskState> {
    return this.#change(name, () => this.#parts.rows.setPaused(name, false), together)
  }

  async history(
    name: string,
    { outcome }: RunFilter = {},
    window: Partial<PageWindow> = {},
  ): Promise<FoundPage<TaskRun>> {
    this.#task(name)
    return this.runs({ task: name, outcome }, window)
  }

  /** Returns runs of all tasks or of one task, including tasks that no plugin declares any more. */
  async runs(
    { task, outcome }: RunFilter & { readonly task?: string | undefined },
    window: Partial<PageWindow> = {},
  ): Promise<FoundPage<TaskRun>> {
    const where = { ...(task === undefined ? {} : { task }), ...(outcome === undefined ? {} : { outcome }) }
    const found = await findPage(this.#parts.db.fork(), RunRow, where, { ...newest, ...window })
    return { ...found, items: found.items.map(runOf) }
  }

  async #change(name: string, change: () => Promise<void>, together: Together = async () => {}): Promise<TaskState> {
    const { rows, db, onChanged } = this.#parts
    this.#task(name)
    await rows.ensure(name)
    return db.transactional(async () => {
      await change()
      await together()
      db.afterCommit(onChanged)
      // Reads the state inside the transaction, because after the commit an instance may have already begun the
      // requested run.
      return this.get(name)
    })
  }

  #task(name: string): BoundScheduledTask {
    const task = this.#parts.tasks.find((candidate) => candidate.name === name)
    if (task === undefined) throw businessError('task-unknown', { params: { task: name } })
    return task
  }

  #state(task: BoundScheduledTask, row: TaskRow | undefined, run: RunRow | undefined): TaskState {
    const { name, plugin, displayName, irreversible } = task
    const heldBack = isDelayedByClockProblem(task, this.#parts.clock)
    const fixedDelayMs = task.fixedDelayMs()
    const autoStartup = task.autoStartup()
    const paused = row?.paused ?? false
    const running = row?.holder != null
    const requested = !running && (row?.requested ?? false)
    const now = new Date(this.#parts.clock.now())
    const due = row?.endedAt ? new Date(row.endedAt.getTime() + fixedDelayMs) : now
    const runsByItself = autoStartup && !paused
    return {
      name,
      plugin,
      displayName,
      fixedDelayMs,
      autoStartup,
      paused,
      running,
      requested,
      irreversible,
      heldBack,
      lastRun: run === undefined ? null : runOf(run),
      nextRunAt: running ? null : requested ? now : runsByItself ? due : null,
      overdue: !running && !heldBack && runsByItself && now.getTime() - due.getTime() > this.#parts.leaseMs,
    }
  }
}

function runOf({ id, task, cause, instance, startedAt, ...end }: RunRow): TaskRun {
  const { endedAt = null, durationMs = null, outcome = null, error = null } = end
  return { id, task, cause, instance, startedAt, endedAt, durationMs, outcome, error }
}
