import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'

/** How old knowledge of the epoch may be, in milliseconds. Half of the second within which a revocation must hold. */
export const longestTrust = 500

interface Reading {
  readonly startedAt: number
  /** Local changes that the reading can know of. */
  readonly changes: number
  readonly epoch: Promise<number>
}

/**
 * The number of changes so far to who may do what: one row that every such change increments in its own transaction.
 * What an instance knows about tokens and roles counts as long as the number stands still.
 *
 * The row is read when a request needs it and the last reading is older than `longestTrust`, by one query for all
 * requests of that moment. So an idle product asks nothing, no timer has to be stopped, and when the database does not
 * answer, nobody is let in.
 */
export class Authority {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'monotonic'>
  #changes = 0
  #known = { epoch: 0, startedAt: Number.NEGATIVE_INFINITY }
  #reading: Reading | undefined

  constructor(db: Database, clock: Pick<Clock, 'monotonic'>) {
    this.#db = db
    this.#clock = clock
  }

  /** The epoch while knowledge of it is fresh. Takes the monotonic time: one look at the clock is enough for a request. */
  knownAt(moment: number): number | undefined {
    return moment - this.#known.startedAt < longestTrust ? this.#known.epoch : undefined
  }

  /** The epoch, read when necessary. */
  async current(): Promise<number> {
    const startedAt = this.#clock.monotonic()
    const known = this.knownAt(startedAt)
    if (known !== undefined) return known
    let reading = this.#reading
    if (reading === undefined || startedAt - reading.startedAt >= longestTrust || reading.changes !== this.#changes) {
      reading = { startedAt, changes: this.#changes, epoch: this.#read() }
      this.#reading = reading
    }
    try {
      const epoch = await reading.epoch
      if (reading.changes === this.#changes && reading.startedAt >= this.#known.startedAt) {
        this.#known = { epoch, startedAt: reading.startedAt }
      }
      return epoch
    } finally {
      if (this.#reading === reading) this.#reading = undefined
    }
  }

  /** Announces that somebody's authority changes, inside the transaction that changes it. Takes the lock as well. */
  async change(): Promise<void> {
    await this.#db.execute('update iam_epoch set epoch = epoch + 1 where id = 1')
    this.#db.afterCommit(() => {
      this.#changes++
      this.#known = { epoch: 0, startedAt: Number.NEGATIVE_INFINITY }
    })
  }

  /**
   * Takes the lock under which accounts and roles change one after another, on all instances, so that rules about several
   * rows (names are unique, the last administrator stays) can be checked by reading. Before anything else in the
   * transaction; what turns out to change nothing of anybody's authority leaves the epoch as it is.
   */
  async lock(): Promise<void> {
    await this.#db.execute('update iam_epoch set epoch = epoch where id = 1')
  }

  async #read(): Promise<number> {
    const [row] = await this.#db.query<{ epoch: unknown }>('select epoch from iam_epoch where id = ?', [1])
    return Number(row?.epoch)
  }
}
