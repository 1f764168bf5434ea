import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { type RowClaim, RowLeases } from '@plinth/coordination'
import { type Database, insertRows } from '@plinth/database'
import type { Clock, PluginDataStore } from '@plinth/kernel'
import type { BoundScheduledTask } from '@plinth/kernel/host'
import type { RunCause, RunOutcome } from './contract.ts'
import { RunRow, TaskRow } from './entities.ts'

/** A run on this instance, with the lease of its task. */
export interface Claim extends RowClaim<string> {
  readonly runId: number
  readonly startedAt: Date
}

export interface RunEnd {
  readonly outcome: RunOutcome
  readonly error: string | null
  readonly durationMs: number
}

/**
 * Reads and changes the rows of tasks. All changes are conditional, so if several instances try the same change, only
 * one succeeds.
 */
export class TaskRows {
  readonly #db: Database
  readonly #clock: Clock
  readonly #instance: string
  readonly #leases: RowLeases<string>

  /** @param instance name of this process, unique among all processes that ever ran */
  constructor(db: Database, clock: Clock, instance: string) {
    this.#db = db
    this.#clock = clock
    this.#instance = instance
    this.#leases = new RowLeases({ db, clock, instance, table: 'scheduler_task', key: 'name' })
  }

  /** Returns the rows of all tasks, including tasks that are no longer declared. */
  all(): Promise<TaskRow[]> {
    return this.#db.fork().find(TaskRow, {})
  }

  find(task: string): Promise<TaskRow | null> {
    return this.#db.fork().findOne(TaskRow, { name: task })
  }

  async ensure(task: string): Promise<void> {
    if ((await this.find(task)) !== null) return
    try {
      await insertRows(this.#db, TaskRow, [{ name: task, paused: false, requested: false, fence: 0, beat: 0 }])
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error
    }
  }

  /** Begins a run if the row of the task has not changed. */
  async claim(seen: TaskRow, cause: RunCause): Promise<Claim | undefined> {
    const runId = this.#db.newId()
    const startedAt = new Date(this.#clock.now())
    return this.#db.transactional(async () => {
      const claim = await this.#leases.take(
        seen.name,
        seen,
        { sql: 'run_id = ?', parameters: [runId] },
        { sql: 'requested = ? and paused = ?', parameters: [seen.requested, seen.paused] },
      )
      if (claim === undefined) return undefined
      const run = { id: runId, task: seen.name, cause, instance: this.#instance, startedAt }
      await insertRows(this.#db, RunRow, [run])
      return { ...claim, runId, startedAt }
    })
  }

  /** Writes a heartbeat. Returns false if the lease was lost. */
  beat(claim: Claim): Promise<boolean> {
    return this.#leases.renew(claim)
  }

  /**
   * Records the end of a run. Returns false and changes nothing if the lease was lost. A requested run that was aborted
   * stays requested.
   *
   * @param together runs in the same transaction
   */
  release(claim: Claim, { outcome, error, durationMs }: RunEnd, together: () => Promise<void>): Promise<boolean> {
    const endedAt = new Date(this.#clock.now())
    return this.#db.transactional(async () => {
      const end = { sql: 'requested = (requested and ?), ended_at = ?', parameters: [outcome === 'aborted', endedAt] }
      if (!(await this.#leases.release(claim, end))) return false
      await this.#db.execute(
        'update scheduler_run set ended_at = ?, duration_ms = ?, outcome = ?, error = ? where id = ?',
        [endedAt, Math.round(durationMs), outcome, error, claim.runId],
      )
      await together()
      return true
    })
  }

  /**
   * Takes the lease from a holder that sends no heartbeats, so that the task is due immediately. Returns false if the
   * row has changed.
   */
  takeAway(seen: TaskRow): Promise<boolean> {
    const outcome: RunOutcome = 'lost'
    return this.#db.transactional(async () => {
      if (!(await this.#leases.takeAway(seen.name, seen, { sql: 'ended_at = null', parameters: [] }))) return false
      await this.#db.execute('update scheduler_run set ended_at = ?, outcome = ? where id = ?', [
        new Date(this.#clock.now()),
        outcome,
        seen.runId ?? null,
      ])
      return true
    })
  }

  /** Requests a run. Returns false while the task runs. */
  async request(task: string): Promise<boolean> {
    const statement = 'update scheduler_task set requested = ? where name = ? and holder is null'
    return (await this.#db.execute(statement, [true, task])) > 0
  }

  async setPaused(task: string, paused: boolean): Promise<void> {
    await this.#db.execute('update scheduler_task set paused = ? where name = ?', [paused, task])
  }

  /** Removes old runs of a task and keeps the newest `kept` runs. */
  async trim(task: string, kept: number): Promise<void> {
    const rows = await this.#db.query<{ id: number | string }>(
      'select id from scheduler_run where task = ? order by id desc limit 1 offset ?',
      [task, kept],
    )
    if (rows[0] === undefined) return
    await this.#db.execute('delete from scheduler_run where task = ? and id <= ?', [task, Number(rows[0].id)])
  }
}

/** Finds and removes the state and the runs of the tasks of a plugin, for the removal of the plugin. */
export function taskData(db: Database, tasks: readonly BoundScheduledTask[]): PluginDataStore {
  const namesOf = (plugin: string) => tasks.filter((task) => task.plugin === plugin).map(({ name }) => name)
  return {
    async find({ id }) {
      const found = namesOf(id).map(async (name) => [
        { kind: 'scheduled task', name, rows: await db.fork().count(TaskRow, { name }) },
        { kind: 'runs of scheduled task', name, rows: await db.fork().count(RunRow, { task: name }) },
      ])
      return (await Promise.all(found)).flat().filter(({ rows }) => rows > 0)
    },
    remove: ({ id }) =>
      db.transactional(async (em) => {
        await em.nativeDelete(RunRow, { task: { $in: namesOf(id) } })
        await em.nativeDelete(TaskRow, { name: { $in: namesOf(id) } })
      }),
  }
}
