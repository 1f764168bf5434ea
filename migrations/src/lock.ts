import { setTimeout as pause } from 'node:timers/promises'
import { errorCodeOf, type ProcessIdentity } from '@plinth/kernel'
import { mayProcessBeAlive, processIdentity } from '@plinth/kernel/host'
import { type RawBuilder, sql } from 'kysely'
import { type ChangelogDb, lockTable, readUnlessTableMissing } from './changelog.ts'
import { type Dialect, databaseNow } from './dialect.ts'
import { migrationError } from './errors.ts'

export interface LockOptions {
  /** Milliseconds without a renewal after which another process may take over. Default: 30,000. */
  readonly leaseMs?: number
  /** Maximum milliseconds to wait for another process. Default: 600,000. */
  readonly waitMs?: number
  /** Milliseconds between two checks while another process owns the lock. Default: 200. */
  readonly pollMs?: number
}

/** Owner of the lock. Times are milliseconds since the epoch by the clock of the database. */
export interface LockHolder {
  readonly host: string
  readonly pid: number
  readonly acquiredAt: number
  readonly expiresAt: number
}

/** Returns the owner of the lock, even if its lease has expired. */
export async function readLock(db: ChangelogDb): Promise<(LockHolder & ProcessIdentity) | undefined> {
  const row = await readUnlessTableMissing(() => db.selectFrom(lockTable).selectAll().executeTakeFirst())
  if (row?.holder == null) return undefined
  return {
    token: row.holder,
    host: row.host ?? '',
    space: row.process_space ?? '',
    pid: Number(row.pid),
    acquiredAt: Number(row.acquired_at),
    expiresAt: Number(row.expires_at),
  }
}

/**
 * Lock that lets only one process migrate. It is a lease in a table row, which its owner renews and which expires by
 * the clock of the database. If the owner ran on this host and is dead, another process takes over immediately. Each
 * change set renews the lease in its own transaction, so a process that lost the lock cannot commit.
 */
export class MigrationLock {
  readonly #db: ChangelogDb
  readonly #now: RawBuilder<number>
  readonly #self: ProcessIdentity = processIdentity()
  readonly #leaseMs: number
  readonly #waitMs: number
  readonly #pollMs: number
  readonly #ended = new AbortController()
  #heartbeat: Promise<void> | undefined
  /** Monotonic time at which the last successful renewal started. */
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(db: ChangelogDb, dialect: Dialect, { leaseMs = 30_000, waitMs = 600_000, pollMs = 200 }: LockOptions) {
    this.#db = db
    this.#now = sql.raw<number>(databaseNow[dialect])
    this.#leaseMs = leaseMs
    this.#waitMs = waitMs
    this.#pollMs = pollMs
  }

  /**
   * Waits until this process owns the lock.
   *
   * @param onWait called once if another process owns the lock
   * @throws PlinthError `PLINTH_MIGRATION_LOCKED`, `PLINTH_MIGRATION_ABORTED`
   */
  async acquire(signal: AbortSignal, onWait: (holder: LockHolder) => void): Promise<void> {
    const giveUpAt = performance.now() + this.#waitMs
    let waited = false
    for (;;) {
      if (signal.aborted) throw migrationError('PLINTH_MIGRATION_ABORTED', { place: 'it began' }, signal.reason)
      const holder = await readLock(this.#db)
      const dead = holder !== undefined && !mayProcessBeAlive(holder) ? holder.token : ''
      if (await this.#tryAcquire(dead)) break
      if (holder !== undefined && !waited) {
        waited = true
        onWait(holder)
      }
      if (performance.now() >= giveUpAt) {
        throw migrationError('PLINTH_MIGRATION_LOCKED', {
          holder: holder === undefined ? 'unknown' : `process ${holder.pid} on ${holder.host}`,
          seconds: Math.round(this.#waitMs / 1000),
          lease: Math.round(this.#leaseMs / 1000),
        })
      }
      await pause(this.#pollMs, undefined, { signal }).catch(() => undefined)
    }
    this.#heartbeat = this.#renewRegularly()
  }

  async #tryAcquire(deadHolder: string): Promise<boolean> {
    const free = sql<boolean>`(holder is null or expires_at < ${this.#now} or holder = ${deadHolder})`
    try {
      const { numUpdatedRows } = await this.#db
        .updateTable(lockTable)
        .set({
          holder: this.#self.token,
          host: this.#self.host,
          process_space: this.#self.space,
          pid: this.#self.pid,
          acquired_at: this.#now,
          expires_at: sql<number>`${this.#now} + ${sql.lit(this.#leaseMs)}`,
        })
        .where('id', '=', 1)
        .where(free)
        .executeTakeFirstOrThrow()
      return numUpdatedRows === 1n
    } catch (error) {
      // On SQLite, this error means that the owner of the lock is writing.
      if (String(errorCodeOf(error)).startsWith('SQLITE_BUSY')) return false
      throw error
    }
  }

  /**
   * Renews the lease, but only if the last renewal is not recent.
   *
   * @throws PlinthError `PLINTH_MIGRATION_LOCK_LOST`
   */
  async keep(db: ChangelogDb, changeSet: string): Promise<void> {
    if (performance.now() - this.#renewedAt > this.#leaseMs / 10) await this.renew(db, changeSet)
  }

  /** @throws PlinthError `PLINTH_MIGRATION_LOCK_LOST` */
  async renew(db: ChangelogDb, changeSet: string): Promise<void> {
    const begunAt = performance.now()
    const { numUpdatedRows } = await db
      .updateTable(lockTable)
      .set({ expires_at: sql<number>`${this.#now} + ${sql.lit(this.#leaseMs)}` })
      .where('holder', '=', this.#self.token)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows !== 1n) throw migrationError('PLINTH_MIGRATION_LOCK_LOST', { changeSet })
    // A renewal in a transaction takes effect only at the commit, so it is not recorded here.
    if (db === this.#db) this.#renewedAt = begunAt
  }

  /**
   * Renews the lease from time to time. Errors are ignored, because each change set renews the lease before it commits.
   */
  async #renewRegularly(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      await pause(this.#leaseMs / 3, undefined, { signal, ref: false }).catch(() => undefined)
      if (!signal.aborted) await this.renew(this.#db, '').catch(() => undefined)
    }
  }

  /** Releases the lock. Never throws, because a lock that cannot be released expires. */
  async release(): Promise<void> {
    this.#ended.abort()
    await this.#heartbeat
    await this.#db
      .updateTable(lockTable)
      .set({ holder: null, host: null, process_space: null, pid: null, acquired_at: null, expires_at: 0 })
      .where('holder', '=', this.#self.token)
      .execute()
      .catch(() => undefined)
  }
}
