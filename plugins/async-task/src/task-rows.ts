import { type RowClaim, RowLeases, type SqlTerm } from '@plinth/coordination'
import { type Database, exactInteger, insertRows, type Selected, selectionOf } from '@plinth/database'
import type { Clock, LocalizedText } from '@plinth/kernel'
import type { TaskArtifact, TaskFailure, TaskState } from './contract.ts'
import { TaskRow } from './entities.ts'

/** A run that this instance has begun, and with it the lease of its task. */
export type Claim = RowClaim<number>

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

interface NewTask {
  readonly type: string
  readonly ownerId: number
  readonly locale: string
  readonly params: string
  /** See `Entry`. */
  readonly turn: number
}

/** Tasks at most. */
export interface TaskLimits {
  /** That wait. */
  readonly capacity: number
  /** Of one owner that wait or run. */
  readonly perOwner: number
}

/** What somebody meets who submits a task. */
interface Entry {
  readonly isFull: boolean
  readonly isFullForOwner: boolean
  /** The owner's next after the tasks that he has waiting, and not before the turn that it is now: so owners alternate. */
  readonly turn: number
}

const heads = selectionOf(TaskRow).pick('id', 'fence', 'beat', 'turn')
/** A task that waits, as it was seen. */
type WaitingTask = Omit<Selected<typeof heads>, 'turn'>

/** A task that nobody has begun. */
const waiting = {
  status: 'queued',
  cancelRequested: false,
  progress: 0,
  attempts: 0,
  fence: 0,
  beat: 0,
} as const

/** Owners share gates, so that there are no more rows than these; an owner waits for another one only by chance. */
const ownerGates = 64
/**
 * Far more tasks than transactions that are open at one moment submit. With that much room in the queue nobody waits at the
 * gate for all owners, which a long transaction would hold up.
 */
const mostUnseen = 500

/** The rows of tasks. All changes are conditional updates, so of several instances that try one succeeds. */
export class TaskRows {
  readonly #db: Database
  readonly #clock: Clock
  readonly #leases: RowLeases<number>

  /** @param instance name of this process in rows, unique among all that ever ran */
  constructor(db: Database, clock: Clock, instance: string) {
    this.#db = db
    this.#clock = clock
    this.#leases = new RowLeases({ db, clock, instance, table: 'async_task', key: 'id' })
  }

  /** @param condition that it must also meet */
  find(id: number, condition: object = {}): Promise<TaskRow | null> {
    return this.#db.fork().findOne(TaskRow, { $and: [{ id }, condition] })
  }

  /**
   * Until the transaction ends nobody else submits for the owner and, when the queue is nearly full, for anybody, so what is
   * counted stays true. Counts no further than the limits.
   *
   * @param types those whose tasks take turns
   */
  async enter(ownerId: number, types: readonly string[], { capacity, perOwner }: TaskLimits): Promise<Entry> {
    await this.#passGate(2 + (ownerId % ownerGates))
    let waiting = await this.#waiting(capacity)
    if (waiting + mostUnseen >= capacity) {
      await this.#passGate(1)
      waiting = await this.#waiting(capacity)
    }
    const [own] = await this.#db.query<{ unfinished: unknown; last: unknown }>(
      `select count(*) as unfinished, max(turn) as last from
         (select case when status = 'queued' and type in (${types.map(() => '?').join(', ')}) then turn end as turn
          from async_task where owner_id = ? and status in ('queued', 'running') limit ?) as own_tasks`,
      [...types, ownerId, perOwner],
    )
    // What is to be begun again says nothing about whose turn it is.
    const [next] = await this.#heads(types, 'turn > 0', 1)
    const last = exactInteger(own?.last ?? 0)
    return {
      isFull: waiting >= capacity,
      isFullForOwner: exactInteger(own?.unfinished ?? 0) >= perOwner,
      turn: Math.max(last + 1, next?.turn ?? 1),
    }
  }

  #passGate(id: number): Promise<unknown> {
    return this.#db.execute('update async_task_gate set entries = entries + 1 where id = ?', [id])
  }

  async #waiting(most: number): Promise<number> {
    const [row] = await this.#db.query<{ waiting: unknown }>(
      // Without an order PostgreSQL reads the table until it has met as many.
      `select count(*) as waiting from
         (select id from async_task where status = 'queued' order by id limit ?) as waiting_tasks`,
      [most],
    )
    return exactInteger(row?.waiting ?? 0)
  }

  async insert(task: NewTask): Promise<number> {
    const id = this.#db.newId()
    await insertRows(this.#db, TaskRow, [{ ...waiting, ...task, id, createdAt: this.#now() }])
    return id
  }

  async running(): Promise<RunningTask[]> {
    const fields = ['id', 'holder', 'fence', 'beat', 'attempts', 'cancelRequested', 'type', 'ownerId'] as const
    const rows = await this.#db.fork().find(TaskRow, { status: 'running' }, { fields })
    return rows.map(({ id, holder, fence, beat, attempts, cancelRequested, type, ownerId }) => ({
      id,
      holder: holder ?? '',
      fence,
      beat,
      attempts,
      cancelRequested,
      type,
      ownerId,
    }))
  }

  isOwn(task: Pick<RunningTask, 'holder'>): boolean {
    return this.#leases.isOwn(task)
  }

  /** Waiting tasks of the types, each owner in turn. Reads no further than that many of each type. */
  queued(types: readonly string[], limit: number): Promise<readonly WaitingTask[]> {
    return this.#heads(types, 'turn >= 0', limit)
  }

  async #heads(
    types: readonly string[],
    condition: 'turn > 0' | 'turn >= 0',
    limit: number,
  ): Promise<readonly Selected<typeof heads>[]> {
    if (types.length === 0) return []
    // One read of the index for each type: tasks of types that are not here may stand before all others.
    const ofType = types.map(
      (_, index) =>
        `select ${heads.list} from (select ${heads.list} from async_task
           where type = ? and status = 'queued' and ${condition} order by turn, id limit ?) as of_type_${index}`,
    )
    const rows = await this.#db.query<object>(
      `select ${heads.list} from (${ofType.join(' union all ')}) as waiting order by turn, id limit ?`,
      [...types.flatMap((type) => [type, limit]), limit],
    )
    return rows.map((row) => heads.read(row))
  }

  /** Begins a run, if the task still waits as it was seen. */
  claim(seen: TaskRow): Promise<Claim | undefined> {
    const begun = `status = 'running', attempts = attempts + 1, progress = 0, note = null, started_at = coalesce(started_at, ?)`
    const waits = { sql: `status = 'queued'`, parameters: [] }
    return this.#leases.take(seen.id, seen, { sql: begun, parameters: [this.#now()] }, waits)
  }

  /** Shows that this instance lives, and how far the task is. False when it has lost the lease. */
  beat(claim: Claim, { progress, note }: Standing): Promise<boolean> {
    return this.#leases.renew(claim, { sql: 'progress = ?, note = ?', parameters: [progress, json(note)] })
  }

  /**
   * Ends a task. False when the lease was lost before; then nothing changes.
   *
   * @param filesOn disk on which the run may have left files
   * @param together done in the same transaction
   */
  finish(
    claim: Claim,
    { status, failure, artifact }: TaskEnd,
    standing: Standing,
    filesOn: string | undefined,
    together: () => Promise<void>,
  ): Promise<boolean> {
    const progress = status === 'succeeded' ? 100 : standing.progress
    const end: SqlTerm = {
      sql: `status = ?, progress = ?, note = ?, failure = ?, artifact_disk = coalesce(?, artifact_disk), artifact_path = ?,
        artifact_name = ?, artifact_size = ?, finished_at = ?`,
      parameters: [
        status,
        progress,
        json(standing.note),
        json(failure),
        artifact?.disk ?? filesOn ?? null,
        artifact?.path ?? null,
        artifact?.name ?? null,
        artifact?.size ?? null,
        this.#now(),
      ],
    }
    return this.#together(() => this.#leases.release(claim, end), together)
  }

  /**
   * Gives a task back as if it had not been begun, or ends it when that was asked for. False when the lease was lost before.
   *
   * @param filesOn disk on which the run may have left files
   */
  release(claim: Claim, filesOn: string | undefined): Promise<boolean> {
    const release = (isCancelled: boolean, set: string, ...parameters: Date[]) =>
      this.#leases.release(
        claim,
        {
          sql: `${set}, artifact_disk = coalesce(?, artifact_disk)`,
          parameters: [...parameters, filesOn ?? null],
        },
        { sql: 'cancel_requested = ?', parameters: [isCancelled] },
      )
    return this.#db.transactional(
      async () =>
        (await release(false, `status = 'queued', turn = 0, attempts = attempts - 1`)) ||
        release(true, `status = 'cancelled', finished_at = ?`, this.#now()),
    )
  }

  /**
   * Takes a task from a holder that shows no sign of life: it waits again, or has ended. False when it has changed.
   *
   * @param end `undefined` when it is to be tried again
   * @param filesOn disk on which the run may have left files
   * @param together done in the same transaction
   */
  takeAway(
    seen: RunningTask,
    end: TaskEnd | undefined,
    filesOn: string,
    together: () => Promise<void>,
  ): Promise<boolean> {
    const freed: SqlTerm = {
      sql: 'status = ?, turn = 0, failure = ?, finished_at = ?, artifact_disk = coalesce(artifact_disk, ?)',
      parameters: [end?.status ?? 'queued', json(end?.failure), end === undefined ? null : this.#now(), filesOn],
    }
    return this.#together(() => this.#leases.takeAway(seen.id, seen, freed), together)
  }

  #together(change: () => Promise<boolean>, together: () => Promise<void>): Promise<boolean> {
    return this.#db.transactional(async () => {
      const isChanged = await change()
      if (isChanged) await together()
      return isChanged
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

  #now(): Date {
    return new Date(this.#clock.now())
  }
}

const json = (value: object | string | null | undefined) => (value == null ? null : JSON.stringify(value))
