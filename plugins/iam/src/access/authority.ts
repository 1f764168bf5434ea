import { type Database, exactInteger, newIdAfter } from '@plinth/database'
import type { Clock } from '@plinth/kernel'

/**
 * Maximum age of the cached epoch in milliseconds: half a second, because a revoked permission must stop working within
 * a second.
 */
export const maxEpochAgeMs = 500
/** Maximum number of changes that one query reads. If there are more, all users are treated as changed. */
const maxChanges = 1_000
/** Maximum number of users for whom the last change is stored separately. */
const maxUsers = 10_000

interface Reading {
  readonly startedAt: number
  /** Number of changes that this instance had made before the query started. */
  readonly changes: number
  readonly done: Promise<number>
}

/**
 * Tracks changes of permissions. The epoch is the number of all changes. It is stored in one row, which every change
 * increments in its own transaction. Another table contains the user of each recent change. A cached token stays valid
 * until a change concerns its user or all users. The epoch is only read when a request needs it and the last read is
 * older than `maxEpochAgeMs`, so an idle product sends no queries.
 */
export class PermissionEpoch {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #changes = 0
  /** `undefined` before the first query. */
  #epoch: number | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Reading | undefined
  /** Epoch of the last change that affected all users. */
  #changedAll = 0
  /**
   * Epoch of the last change of each user. The last change of a user who is not in this map is not later than
   * `#changedAll`.
   */
  readonly #changedUsers = new Map<number, number>()

  constructor(db: Database, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Returns whether the cached epoch is recent enough. The caller passes the monotonic time, so that each request reads
   * the clock only once.
   */
  isFreshAt(moment: number): boolean {
    return moment - this.#readAt < maxEpochAgeMs
  }

  /** Returns true if no known change after the epoch `since` concerns the user. */
  stands(userId: number, since: number): boolean {
    return since >= this.#changedAll && since >= (this.#changedUsers.get(userId) ?? 0)
  }

  /**
   * Returns the epoch. Reads it from the database if the cached epoch is too old. Afterwards, all changes up to this
   * epoch are known.
   */
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

  /**
   * Records that the permissions of one user change. Must be called in the transaction of the change. Also takes the
   * lock of `lock()`.
   */
  async changeOf(userId: number): Promise<void> {
    await this.#change(userId)
  }

  /** Records a change that concerns many users, for example of the permissions of a role. Otherwise like `changeOf`. */
  async changeOfAll(): Promise<void> {
    await this.#change(null)
  }

  /**
   * Takes a lock, so that changes of accounts and roles run one after another on all instances. Under the lock, a
   * caller can check rules about several rows, such as unique names and the last administrator. Must be the first call
   * in a transaction. Does not change the epoch.
   */
  async lock(): Promise<void> {
    await this.#db.execute('update iam_epoch set epoch = epoch where id = 1')
  }

  /**
   * Implements `Identity.limitUserIds`. The order is exact, because each change of users holds the same lock until its
   * commit, and `newUserId` returns a larger id than the limit even if the clock of its instance is behind.
   */
  async limitUserIds(): Promise<number> {
    await this.lock()
    const newest = 'select coalesce(max(id), 0) from iam_user'
    await this.#db.execute(
      `update iam_epoch set user_id_limit = (${newest}) where id = 1 and user_id_limit < (${newest})`,
    )
    return this.#userIdLimit()
  }

  /** Returns the id of a new user. Must be called under the lock. @throws the errors of `newIdAfter` */
  async newUserId(): Promise<number> {
    return newIdAfter(this.#db, await this.#userIdLimit())
  }

  async #userIdLimit(): Promise<number> {
    const [row] = await this.#db.query<{ user_id_limit: unknown }>('select user_id_limit from iam_epoch where id = 1')
    return exactInteger(row?.user_id_limit ?? null)
  }

  async #change(userId: number | null): Promise<void> {
    await this.#db.execute('update iam_epoch set epoch = epoch + 1 where id = 1')
    // The id of a change is the value of the epoch after the change.
    const insert =
      'insert into iam_authority_change (id, user_id, changed_at) select epoch, ?, ? from iam_epoch where id = 1'
    await this.#db.execute(insert, [userId, new Date(this.#clock.now())])
    this.#db.afterCommit(() => {
      this.#changes++
      this.#readAt = Number.NEGATIVE_INFINITY
    })
  }

  /** Reads the epoch and the list of changes with one statement, so that they are consistent. */
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
    // Changes are missing if they were purged or are more than the limit. Then any user may have changed.
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

  /** Treats all users as changed in this epoch. */
  #forgetUsers(epoch: number): void {
    this.#changedAll = Math.max(this.#changedAll, epoch)
    for (const [userId, changedAt] of this.#changedUsers) {
      if (changedAt <= this.#changedAll) this.#changedUsers.delete(userId)
    }
  }
}
