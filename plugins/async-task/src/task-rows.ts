import { type Database, exactInteger } from '@plinth/database'
import type { Clock, LocalizedText } from '@plinth/kernel'
import type { TaskArtifact, TaskFailure, TaskState } from './contract.ts'
import { TaskRow } from './entities.ts'

/** A run that this instance has begun, and with it the lease of its task. */
export interface Claim {
  readonly id: number
  readonly fence: number
  /** `clock.monotonic` before the lease was asked for. */
  readonly claimedAt: number
}

/** How far a task is. */
export interface Standing {
  readonly progress: number
  readonly note: LocalizedText | null
}

/** How a task ended. */
export interface TaskEnd {
  readonly status: Extract<TaskState, 'succeeded' | 'failed' | 'cancelled'>
  readonly failure?: TaskFailure
  readonly artifact?: TaskArtifact
}

/** A task that runs, as the loop sees it. */
export interface RunningTask {
  readonly id: number
  readonly type: string
  readonly ownerId: number
  readonly holder: string
  readonly fence: number
  readonly beat: number
  readonly attempts: number
  readonly cancelRequested: boolean
}

export interface NewTask {
  readonly type: string
  readonly ownerId: number
  readonly locale: string
  readonly params: string
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

  /** @param condition that it must also meet */
  find(id: number, condition: object = {}): Promise<TaskRow | null> {
    return this.#db.fork().findOne(TaskRow, { $and: [{ id }, condition] })
  }

  /** Tasks that wait, and unfinished ones of one owner. */
  async load(ownerId: number): Promise<{ readonly queued: number; readonly ofOwner: number }> {
    const [row] = await this.#db.query<Record<'queued' | 'of_owner', unknown>>(
      `select sum(case when status = 'queued' then 1 else 0 end) as queued,
         sum(case when owner_id = ? then 1 else 0 end) as of_owner
       from async_task where status in ('queued', 'running')`,
      [ownerId],
    )
    return { queued: exactInteger(row?.queued ?? 0), ofOwner: exactInteger(row?.of_owner ?? 0) }
  }

  async insert({ type, ownerId, locale, params }: NewTask): Promise<number> {
    const id = this.#db.newId()
    await this.#db.execute(
      `insert into async_task (id, type, owner_id, locale, params, status, cancel_requested, progress, attempts, fence, beat,
         created_at) values (?, ?, ?, ?, ?, 'queued', ?, 0, 0, 0, 0, ?)`,
      [id, type, ownerId, locale, params, false, this.#now()],
    )
    return id
  }

  async running(): Promise<RunningTask[]> {
    const fields = ['id', 'holder', 'fence', 'beat', 'attempts', 'cancelRequested', 'type', 'ownerId'] as const
    const rows = await this.#db.fork().find(TaskRow, { status: 'running' }, { fields })
    return rows.map(({ id, holder, fence, beat, attempts, cancelRequested, type, ownerId }) => ({
      ...{ id, holder: holder ?? '', fence, beat, attempts, cancelRequested, type, ownerId },
    }))
  }

  isOwn({ holder }: Pick<RunningTask, 'holder'>): boolean {
    return holder === this.#instance
  }

  /** Waiting tasks of the types, those that wait longest first. */
  async queued(types: readonly string[], limit: number): Promise<readonly Pick<TaskRow, 'id' | 'fence' | 'beat'>[]> {
    const where = { status: 'queued' as const, type: { $in: types } }
    const options = { fields: ['id', 'fence', 'beat'], orderBy: { id: 'asc' }, limit } as const
    return this.#db.fork().find(TaskRow, where, options)
  }

  /** Begins a run, if the task still waits as it was seen. */
  async claim({ id, fence }: Pick<TaskRow, 'id' | 'fence'>): Promise<Claim | undefined> {
    const claimedAt = this.#clock.monotonic()
    const taken = await this.#db.execute(
      `update async_task set status = 'running', holder = ?, fence = fence + 1, attempts = attempts + 1, progress = 0,
         note = null, started_at = coalesce(started_at, ?) where id = ? and fence = ? and status = 'queued'`,
      [this.#instance, this.#now(), id, fence],
    )
    return taken === 0 ? undefined : { id, fence: fence + 1, claimedAt }
  }

  /** Shows that this instance lives, and how far it is. False when it has lost the lease. */
  beat(claim: Claim, { progress, note }: Standing): Promise<boolean> {
    return this.#change('update async_task set beat = beat + 1, progress = ?, note = ?', claim, [
      progress,
      note === null ? null : JSON.stringify(note),
    ])
  }

  /**
   * Ends a task. False when the lease was lost before; then nothing changes.
   *
   * @param together done in the same transaction
   */
  finish(claim: Claim, end: TaskEnd, standing: Standing, together: () => Promise<void>): Promise<boolean> {
    const { status, failure, artifact } = end
    const { note } = standing
    return this.#db.transactional(async () => {
      const isFinished = await this.#change(
        `update async_task set status = ?, holder = null, beat = beat + 1, progress = ?, note = ?, failure = ?,
           artifact_disk = ?, artifact_path = ?, artifact_name = ?, artifact_size = ?, finished_at = ?`,
        claim,
        [
          ...[status, status === 'succeeded' ? 100 : standing.progress, note === null ? null : JSON.stringify(note)],
          failure === undefined ? null : JSON.stringify(failure),
          ...[artifact?.disk ?? null, artifact?.path ?? null, artifact?.name ?? null, artifact?.size ?? null],
          this.#now(),
        ],
      )
      if (isFinished) await together()
      return isFinished
    })
  }

  /** Gives a task back as if it had not been begun, or ends it when that was asked for. False when the lease was lost before. */
  release(claim: Claim): Promise<boolean> {
    const free = 'holder = null, beat = beat + 1'
    return this.#db.transactional(async () => {
      const isReleased = await this.#change(
        `update async_task set status = 'queued', attempts = attempts - 1, ${free}`,
        claim,
        [],
        { cancelRequested: false },
      )
      if (isReleased) return true
      return this.#change(
        `update async_task set status = 'cancelled', finished_at = ?, ${free}`,
        claim,
        [this.#now()],
        { cancelRequested: true },
      )
    })
  }

  /**
   * Takes a task from a holder that shows no sign of life: it waits again, or has ended. False when it has changed.
   *
   * @param end `undefined` when it is to be tried again
   * @param together done in the same transaction
   */
  takeAway(seen: RunningTask, end: TaskEnd | undefined, together: () => Promise<void>): Promise<boolean> {
    return this.#db.transactional(async () => {
      const freed = await this.#db.execute(
        `update async_task set status = ?, holder = null, beat = beat + 1, failure = ?, finished_at = ?
         where id = ? and fence = ? and beat = ? and holder = ? and status = 'running'`,
        [
          ...[end?.status ?? 'queued', end?.failure === undefined ? null : JSON.stringify(end.failure)],
          ...[end === undefined ? null : this.#now(), seen.id, seen.fence, seen.beat, seen.holder],
        ],
      )
      if (freed > 0) await together()
      return freed > 0
    })
  }

  /** Ends a task that waits. False when it does not. */
  async cancelQueued(id: number): Promise<boolean> {
    const cancelled = await this.#db.execute(
      `update async_task set status = 'cancelled', finished_at = ? where id = ? and status = 'queued'`,
      [this.#now(), id],
    )
    return cancelled > 0
  }

  /** Asks the holder of a running task to end it. False when none runs it. */
  async requestCancel(id: number): Promise<boolean> {
    const statement = `update async_task set cancel_requested = ?, beat = beat + 1 where id = ? and status = 'running'`
    return (await this.#db.execute(statement, [true, id])) > 0
  }

  async #change(
    update: string,
    { id, fence }: Claim,
    parameters: NonNullable<Parameters<Database['execute']>[1]>,
    only?: { readonly cancelRequested: boolean },
  ): Promise<boolean> {
    const held = `${update} where id = ? and fence = ? and holder = ? and status = 'running'`
    const statement = only === undefined ? held : `${held} and cancel_requested = ?`
    const more = only === undefined ? [] : [only.cancelRequested]
    return (await this.#db.execute(statement, [...parameters, id, fence, this.#instance, ...more])) > 0
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}
