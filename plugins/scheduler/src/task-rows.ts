import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { RunCause, RunOutcome } from './contract.ts'
import { TaskRow } from './entities.ts'

/** A run that this instance has begun, and with it the lease of its task. */
export interface Claim {
  readonly task: string
  readonly fence: number
  readonly runId: number
  readonly startedAt: Date
  /** `clock.monotonic` before the lease was asked for. */
  readonly claimedAt: number
}

export interface RunEnd {
  readonly outcome: RunOutcome
  readonly error: string | null
  readonly durationMs: number
}

/** The rows of tasks. All changes are conditional updates, so of several instances that try one succeeds. */
export class TaskRows {
  readonly #db: Database
  readonly #clock: Clock
  readonly #instance: string

  /** @param instance name of this process in rows, unique among all that ever ran */
  constructor(db: Database, clock: Clock, instance: string) {
    this.#db = db
    this.#clock = clock
    this.#instance = instance
  }

  /** Rows of all tasks that ever were. */
  all(): Promise<TaskRow[]> {
    return this.#db.fork().find(TaskRow, {})
  }

  find(task: string): Promise<TaskRow | null> {
    return this.#db.fork().findOne(TaskRow, { name: task })
  }

  async ensure(task: string): Promise<void> {
    if ((await this.find(task)) !== null) return
    try {
      await this.#db.execute(
        'insert into scheduler_task (name, paused, requested, fence, beat) values (?, ?, ?, 0, 0)',
        [task, false, false],
      )
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error
    }
  }

  /** Begins a run, if the task still stands as it was seen. */
  async claim(seen: TaskRow, cause: RunCause): Promise<Claim | undefined> {
    const runId = this.#db.newId()
    const claimedAt = this.#clock.monotonic()
    const startedAt = new Date(this.#clock.now())
    return this.#db.transactional(async () => {
      const taken = await this.#db.execute(
        'update scheduler_task set fence = fence + 1, holder = ?, run_id = ? where name = ? and fence = ? and beat = ? and holder is null and requested = ? and paused = ?',
        [this.#instance, runId, seen.name, seen.fence, seen.beat, seen.requested, seen.paused],
      )
      if (taken === 0) return undefined
      await this.#db.execute(
        'insert into scheduler_run (id, task, cause, instance, started_at) values (?, ?, ?, ?, ?)',
        [runId, seen.name, cause, this.#instance, startedAt],
      )
      return { task: seen.name, fence: seen.fence + 1, runId, startedAt, claimedAt }
    })
  }

  /** Shows that this instance lives, also while other work keeps all connections. False when it has lost the lease. */
  async beat({ task, fence }: Claim): Promise<boolean> {
    const statement = 'update scheduler_task set beat = beat + 1 where name = ? and fence = ? and holder = ?'
    return (await this.#db.reserved.execute(statement, [task, fence, this.#instance])) > 0
  }

  /**
   * Ends a run. False when the lease was lost before; then nothing changes.
   *
   * @param together done in the same transaction
   */
  release(
    { task, fence, runId }: Claim,
    { outcome, error, durationMs }: RunEnd,
    together: () => Promise<void>,
  ): Promise<boolean> {
    const endedAt = new Date(this.#clock.now())
    return this.#db.transactional(async () => {
      const released = await this.#db.execute(
        'update scheduler_task set holder = null, beat = beat + 1, requested = ?, ended_at = ? where name = ? and fence = ? and holder = ?',
        [false, endedAt, task, fence, this.#instance],
      )
      if (released === 0) return false
      await this.#db.execute(
        'update scheduler_run set ended_at = ?, duration_ms = ?, outcome = ?, error = ? where id = ?',
        [endedAt, Math.round(durationMs), outcome, error, runId],
      )
      await together()
      return true
    })
  }

  /** Takes the lease from a holder that shows no sign of life; its task is due at once. False when it has changed. */
  takeAway(seen: TaskRow): Promise<boolean> {
    const endedAt = new Date(this.#clock.now())
    return this.#db.transactional(async () => {
      const freed = await this.#db.execute(
        'update scheduler_task set holder = null, beat = beat + 1, ended_at = null where name = ? and fence = ? and beat = ? and holder = ?',
        [seen.name, seen.fence, seen.beat, seen.holder ?? null],
      )
      if (freed === 0) return false
      const outcome: RunOutcome = 'lost'
      await this.#db.execute('update scheduler_run set ended_at = ?, outcome = ? where id = ?', [
        endedAt,
        outcome,
        seen.runId ?? null,
      ])
      return true
    })
  }

  /** Asks for a run. False while one goes on. */
  async request(task: string): Promise<boolean> {
    const statement = 'update scheduler_task set requested = ? where name = ? and holder is null'
    return (await this.#db.execute(statement, [true, task])) > 0
  }

  async setPaused(task: string, paused: boolean): Promise<void> {
    await this.#db.execute('update scheduler_task set paused = ? where name = ?', [paused, task])
  }

  /** Removes all but the newest runs of a task. */
  async trim(task: string, kept: number): Promise<void> {
    const rows = await this.#db.query<{ id: number | string }>(
      'select id from scheduler_run where task = ? order by id desc limit 1 offset ?',
      [task, kept],
    )
    if (rows[0] === undefined) return
    await this.#db.execute('delete from scheduler_run where task = ? and id <= ?', [task, Number(rows[0].id)])
  }
}
