import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'

/** Maximum age of the known epoch in milliseconds: half of the second within which a revocation must take effect. */
export const maxEpochAgeMs = 500
/** Maximum number of changes in one query. If there are more, all users are treated as changed. */
const maxChanges = 1_000
/** Maximum number of users whose last change is stored individually. */
const maxUsers = 10_000

interface Reading {
  readonly startedAt: number
  /** Number of local changes before the query started. */
  readonly changes: number
  readonly done: Promise<number>
}

/**
 * Tracks changes of permissions. The epoch is the number of such changes. It is one row that every change increments in
 * its own transaction, so the order of changes is the order of commits. A row per recent change contains the user whose
 * authority changed. Cached facts about a token are valid as long as neither its user nor all users have changed since.
 * The epoch is read when a request needs it and the last read is older than `maxEpochAgeMs`. One query serves all
 * concurrent requests and also returns the recent changes. Therefore an idle product sends no queries, no timer has to
 * be stopped, and no request is admitted while the database does not respond.
 */
export class Authority {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #changes = 0
  /** `undefined` before the first query. */
  #epoch: number | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Reading | undefined
  /** Epoch of the last change that affected all users. */
  #changedAll = 0
  /** Epoch of the last change of each user. For a user who is not in the map, it is at most `#changedAll`. */
  readonly #changedUsers = new Map<number, number>()

  constructor(db: Database, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Returns whether the known epoch is fresh. The caller passes the monotonic time, so that each request reads the
   * clock once.
   */
  isFreshAt(moment: number): boolean {
    return moment - this.#readAt < maxEpochAgeMs
  }

  /** Returns whether no change of a user is known since an epoch. */
  stands(userId: number, since: number): boolean {
    return since >= this.#changedAll && since >= (this.#changedUsers.get(userId) ?? 0)
  }

  /** Returns the epoch and reads it if necessary. All changes up to it are then known. */
  async current(): Promise<number> {
    const startedAt = this.#clock.monotonic()
    if (this.#epoch !== undefined && this.isFreshAt(startedAt)) return this.#epoch
    let reading = this.#reading
    if (reading === undefined || startedAt - reading.startedAt >= maxEpochAgeMs || reading.changes !== this.#changes) {
      reading = { startedAt, changes: this.#changes, done: this.#read() }
      this.#reading = reading
    }
    try {
      const epoch = await reading.done
      if (reading.changes === this.#changes && reading.startedAt > this.#readAt) this.#readAt = reading.startedAt
      return epoch
    } finally {
      if (this.#reading === reading) this.#reading = undefined
    }
  }

  /** Records a change of one user's authority in the transaction of the change. Also takes the lock. */
  async changeOf(userId: number): Promise<void> {
    await this.#change(userId)
  }

  /** Records a change that affects many users, such as the content of a role. Like `changeOf`. */
  async changeOfAll(): Promise<void> {
    await this.#change(null)
  }

  /**
   * Takes the lock that serialises changes of accounts and roles on all instances. Rules about several rows, such as
   * unique names and the last administrator, can then be checked by reading. Call it first in the transaction. It does
   * not change the epoch.
   */
  async lock(): Promise<void> {
    await this.#db.execute('update iam_epoch set epoch = epoch where id = 1')
  }

  async #change(userId: number | null): Promise<void> {
    await this.#db.execute('update iam_epoch set epoch = epoch + 1 where id = 1')
    // The id of a change is the epoch after it.
    const insert =
      'insert into iam_authority_change (id, user_id, changed_at) select epoch, ?, ? from iam_epoch where id = 1'
    await this.#db.execute(insert, [userId, new Date(this.#clock.now())])
    this.#db.afterCommit(() => {
      this.#changes++
      this.#readAt = Number.NEGATIVE_INFINITY
    })
  }

  /** One statement, so that the epoch and the changes are consistent. */
  async #read(): Promise<number> {
    const from = this.#epoch ?? Number.MAX_SAFE_INTEGER
    const rows = await this.#db.query<{ epoch: unknown; change_id: unknown; user_id: unknown }>(
      `select e.epoch as epoch, c.id as change_id, c.user_id as user_id
       from iam_epoch e left join iam_authority_change c on c.id > ?
       where e.id = 1 order by c.id limit ${maxChanges}`,
      [from],
    )
    const epoch = Number(rows[0]?.epoch)
    const changes = rows.filter(({ change_id: id }) => id !== null)
    // Changes may have been purged or exceed the limit. Then any user may be affected.
    const isComplete = changes.length === epoch - from
    if (!isComplete || changes.some(({ user_id: user }) => user === null)) this.#forgetUsers(epoch)
    else for (const { change_id: id, user_id: user } of changes) this.#remember(Number(user), Number(id))
    this.#epoch = Math.max(this.#epoch ?? 0, epoch)
    return epoch
  }

  #remember(userId: number, changedAt: number): void {
    if (this.#changedUsers.size >= maxUsers) this.#forgetUsers(changedAt)
    this.#changedUsers.set(userId, Math.max(changedAt, this.#changedUsers.get(userId) ?? 0))
  }

  /** Treats all users as changed at this epoch. */
  #forgetUsers(epoch: number): void {
    this.#changedAll = Math.max(this.#changedAll, epoch)
    for (const [userId, changedAt] of this.#changedUsers) {
      if (changedAt <= this.#changedAll) this.#changedUsers.delete(userId)
    }
  }
}
