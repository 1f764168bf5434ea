import { type RowClaim, RowLeases, type SqlTerm } from '@plinth/coordination'
import { type Database, exactInteger, insertRows, type Selected, selectionOf } from '@plinth/database'
import type { Clock, LocalizedText } from '@plinth/kernel'
import type { TaskArtifact, TaskFailure, TaskState } from './contract.ts'
import { TaskRow } from './entities.ts'

/** A run on this instance, with the lease of its task. */
export type Claim = RowClaim<number>

export interface TaskProgress {
  readonly progress: number
  readonly note: LocalizedText | null
}

export interface TaskEnd {
  readonly status: Extract<TaskState, 'succeeded' | 'failed' | 'cancelled'>
  readonly failure?: TaskFailure
  readonly artifact?: TaskArtifact
}

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
  readonly turn: number
}

export interface TaskLimits {
  readonly capacity: number
  /** Maximum number of queued and running tasks of one owner. */
  readonly perOwner: number
}

interface Entry {
  readonly isFull: boolean
  readonly isFullForOwner: boolean
  /**
   * Turn of the new task. It is greater than the turns of the owner's queued tasks and not less than the current turn,
   * so that owners alternate.
   */
  readonly turn: number
}

const heads = selectionOf(TaskRow).pick('id', 'fence', 'beat', 'turn')
type WaitingTask = Omit<Selected<typeof heads>, 'turn'>

const waiting = {
  status: 'queued',
  cancelRequested: false,
  progress: 0,
  attempts: 0,
  fence: 0,
  beat: 0,
} as const

/** Number of rows to lock. Several owners share a row, so that there are not too many rows. */
const ownerGates = 64
/**
 * More than the number of tasks that open transactions can submit at the same time. While the queue has more free
 * places than this, submissions skip the lock for all owners, because a long transaction would make all others wait.
 */
const maxUnsubmitted = 500

/**
 * Reads and changes tasks. All changes are conditional, so if several instances try the same change, only one succeeds.
 */
export class TaskRows {
  readonly #db: Database
  readonly #clock: Clock
  readonly #leases: RowLeases<number>

  /** @param instance name of this process, unique among all processes that ever ran */
  constructor(db: Database, clock: Clock, instance: string) {
    this.#db = db
    this.#clock = clock
    this.#leases = new RowLeases({ db, clock, instance, table: 'async_task', key: 'id' })
  }

  /** @param condition additional condition */
  find(id: number, condition: object = {}): Promise<TaskRow | null> {
    return this.#db.fork().findOne(TaskRow, { $and: [{ id }, condition] })
  }

  /**
   * Makes other submissions of this owner wait until the transaction ends, and those of all owners if the queue is
   * nearly full. Otherwise the limits could be exceeded. Counts only up to the limits.
   *
   * @param types types of tasks that share turns
   */
  async enter(ownerId: number, types: readonly string[], { capacity, perOwner }: TaskLimits): Promise<Entry> {
    await this.#passGate(2 + (ownerId % ownerGates))
    let waiting = await this.#waiting(capacity)
    if (waiting + maxUnsubmitted >= capacity) {
      await this.#passGate(1)
      waiting = await this.#waiting(capacity)
    }
    const [own] = await this.#db.query<{ unfinished: unknown; last: unknown }>(
      `select count(*) as unfinished, max(turn) as last from
         (select case when status = 'queued' and type in (${types.map(() => '?').join(', ')}) then turn end as turn
          from async_task where owner_id = ? and status in ('queued', 'running') limit ?) as own_tasks`,
      [...types, ownerId, perOwner],
    )
    // Ignores tasks that are queued again, because their turn is 0.
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
      // With an order, PostgreSQL uses the index. Otherwise it scans the table until it has found this many rows.
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

  /** Returns queued tasks of the types, alternating between owners. Reads at most `limit` rows per type. */
  queued(types: readonly string[], limit: number): Promise<readonly WaitingTask[]> {
    return this.#heads(types, 'turn >= 0', limit)
  }

  async #heads(
    types: readonly string[],
    condition: 'turn > 0' | 'turn >= 0',
    limit: number,
  ): Promise<readonly Selected<typeof heads>[]> {
    if (types.length === 0) return []
    // One index scan per type. Otherwise tasks of types without a handler on this instance would be read too.
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

  /** Begins a run if the task is still queued and unchanged. */
  claim(seen: TaskRow): Promise<Claim | undefined> {
    const begun = `status = 'running', attempts = attempts + 1, progress = 0, note = null, started_at = coalesce(started_at, ?)`
    const waits = { sql: `status = 'queued'`, parameters: [] }
    return this.#leases.take(seen.id, seen, { sql: begun, parameters: [this.#now()] }, waits)
  }

  /** Writes a heartbeat and the progress. Returns false if the lease was lost. */
  beat(claim: Claim, { progress, note }: TaskProgress): Promise<boolean> {
    return this.#leases.renew(claim, { sql: 'progress = ?, note = ?', parameters: [progress, json(note)] })
  }

  /**
   * Ends a task. Returns false and changes nothing if the lease was lost.
   *
   * @param filesOn disk on which the run may have left files
   * @param together runs in the same transaction
   */
  finish(
    claim: Claim,
    { status, failure, artifact }: TaskEnd,
    standing: TaskProgress,
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
   * Queues a task again without counting the attempt, or ends it if a cancellation was requested. Returns false if the
   * lease was lost.
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
   * Takes a task from a holder that sends no heartbeat, and queues it again or ends it. Returns false if the task has
   * changed.
   *
   * @param end `undefined`: the task will be attempted again
   * @param filesOn disk on which the run may have left files
   * @param together runs in the same transaction
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

  /** Ends a queued task. Returns false if it is not queued. */
  async cancelQueued(id: number): Promise<boolean> {
    const cancelled = await this.#db.execute(
      `update async_task set status = 'cancelled', finished_at = ? where id = ? and status = 'queued'`,
      [this.#now(), id],
    )
    return cancelled > 0
  }

  /** Asks the holder of a running task to end it. Returns false if the task is not running. */
  async requestCancel(id: number): Promise<boolean> {
    const statement = `update async_task set cancel_requested = ?, beat = beat + 1 where id = ? and status = 'running'`
    return (await this.#db.execute(statement, [true, id])) > 0
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}

const json = (value: object | string | null | undefined) => (value == null ? null : JSON.stringify(value))
