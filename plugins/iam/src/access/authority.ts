import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'

/** How old knowledge of the epoch may be, in milliseconds. Half of the second within which a revocation must hold. */
export const longestTrust = 500
/** Changes that one reading takes in. Of more it only knows that there were many. */
const mostChanges = 1_000
/** Users whose last change is remembered one by one. */
const mostUsers = 10_000

interface Reading {
  readonly startedAt: number
  /** Local changes that the reading can know of. */
  readonly changes: number
  readonly done: Promise<number>
}

/**
 * The number of changes so far to who may do what (the epoch: one row that every such change increments in its own
 * transaction, so that their order is that of the commits), and for each of the latest whose authority it changed. What an
 * instance knows about a token counts as long as nothing has changed for its user, or for everybody, since it was read.
 *
 * The epoch is read when a request needs it and the last reading is older than `longestTrust`, by one query for all requests
 * of that moment, together with what has changed since. So an idle product asks nothing, no timer has to be stopped, and
 * when the database does not answer, nobody is let in.
 */
export class Authority {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #changes = 0
  /** `undefined` before the first reading. */
  #epoch: number | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Reading | undefined
  /** Epoch of the last change to everybody's authority. */
  #changedAll = 0
  /** Epoch of the last change to a user's own; of users who are not in it, it is at most `#changedAll`. */
  readonly #changedUsers = new Map<number, number>()

  constructor(db: Database, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#db = db
    this.#clock = clock
  }

  /** Whether knowledge of the epoch is fresh. Takes the monotonic time: one look at the clock is enough for a request. */
  isFreshAt(moment: number): boolean {
    return moment - this.#readAt < longestTrust
  }

  /** Whether nothing is known to have changed for a user since an epoch. */
  stands(userId: number, since: number): boolean {
    return since >= this.#changedAll && since >= (this.#changedUsers.get(userId) ?? 0)
  }

  /** The epoch, read when necessary. What changed up to it is known then. */
  async current(): Promise<number> {
    const startedAt = this.#clock.monotonic()
    if (this.#epoch !== undefined && this.isFreshAt(startedAt)) return this.#epoch
    let reading = this.#reading
    if (reading === undefined || startedAt - reading.startedAt >= longestTrust || reading.changes !== this.#changes) {
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

  /** Announces that the authority of one user changes, inside the transaction that changes it. Takes the lock as well. */
  async changeOf(userId: number): Promise<void> {
    await this.#change(userId)
  }

  /** Announces a change to what many may do, such as the content of a role. As `changeOf`. */
  async changeOfAll(): Promise<void> {
    await this.#change(null)
  }

  /**
   * Takes the lock under which accounts and roles change one after another, on all instances, so that rules about several
   * rows (names are unique, the last administrator stays) can be checked by reading. Before anything else in the
   * transaction; what turns out to change nothing of anybody's authority leaves the epoch as it is.
   */
  async lock(): Promise<void> {
    await this.#db.execute('update iam_epoch set epoch = epoch where id = 1')
  }

  async #change(userId: number | null): Promise<void> {
    await this.#db.execute('update iam_epoch set epoch = epoch + 1 where id = 1')
    // The id of a change is the epoch that it made.
    const insert =
      'insert into iam_authority_change (id, user_id, changed_at) select epoch, ?, ? from iam_epoch where id = 1'
    await this.#db.execute(insert, [userId, new Date(this.#clock.now())])
    this.#db.afterCommit(() => {
      this.#changes++
      this.#readAt = Number.NEGATIVE_INFINITY
    })
  }

  /** One statement, so that the epoch and the changes are of one moment. */
  async #read(): Promise<number> {
    const from = this.#epoch ?? Number.MAX_SAFE_INTEGER
    const rows = await this.#db.query<{ epoch: unknown; change_id: unknown; user_id: unknown }>(
      `select e.epoch as epoch, c.id as change_id, c.user_id as user_id
       from iam_epoch e left join iam_authority_change c on c.id > ?
       where e.id = 1 order by c.id limit ${mostChanges}`,
      [from],
    )
    const epoch = Number(rows[0]?.epoch)
    const changes = rows.filter(({ change_id: id }) => id !== null)
    // Changes may have been purged, or be too many: then it could be anybody's.
    const isComplete = changes.length === epoch - from
    if (!isComplete || changes.some(({ user_id: user }) => user === null)) this.#forgetUsers(epoch)
    else for (const { change_id: id, user_id: user } of changes) this.#remember(Number(user), Number(id))
    this.#epoch = Math.max(this.#epoch ?? 0, epoch)
    return epoch
  }

  #remember(userId: number, changedAt: number): void {
    if (this.#changedUsers.size >= mostUsers) this.#forgetUsers(changedAt)
    this.#changedUsers.set(userId, Math.max(changedAt, this.#changedUsers.get(userId) ?? 0))
  }

  /** From here on everybody's authority counts as changed at this epoch. */
  #forgetUsers(epoch: number): void {
    this.#changedAll = Math.max(this.#changedAll, epoch)
    for (const [userId, changedAt] of this.#changedUsers) {
      if (changedAt <= this.#changedAll) this.#changedUsers.delete(userId)
    }
  }
}
