import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '@plinth/kernel'
import type { Kysely } from 'kysely'
import { databaseError } from '../errors.ts'

/**
 * Ids are integers below 2^53, so they are exact in JSON and JavaScript:
 *
 *     41 bits   milliseconds since 2025-01-01 UTC (until 2094)
 *      8 bits   number of the process, from the table database_id_node
 *      4 bits   counter within the millisecond; beyond 15 the time part advances early
 *
 * Each process reserves a number for a limited time, so ids are unique. After that, another process may use the number,
 * but only for later times. Ids of one process increase. Ids of several processes sort by time, as exactly as their
 * clocks agree.
 */
const epoch = Date.UTC(2025, 0, 1)
const nodes = 2 ** 8
const counters = 2 ** 4

/** Number of different ids of one millisecond. */
export const idUnitsPerMs = nodes * counters

/** Duration of a reservation in milliseconds. */
const reservation = 600_000

/**
 * Returns the smallest id for a time. Smaller ids are older, except for differences between clocks. For times after the
 * last possible id, returns the largest integer that all databases and JavaScript store exactly.
 *
 * @param ms milliseconds since the epoch
 */
export const firstIdAt = (ms: number): number =>
  Math.min(Math.max(0, Math.floor(ms) - epoch) * idUnitsPerMs, Number.MAX_SAFE_INTEGER)

/** Maximum difference of the clocks of two instances that `newIdAfter` compensates, in milliseconds. */
const maxAheadMs = 60_000

/**
 * Returns a new id that is larger than `after`. Use it under a lock to create ids that increase in the order of the
 * commits, although the clocks of instances differ.
 *
 * @param after 0, or an id that another instance may have created
 * @throws PlinthError `PLINTH_DATABASE_NO_IDS` if `after` is more than a minute ahead, and the errors of `newId`
 */
export function newIdAfter(db: { newId(): number }, after: number): number {
  let id = db.newId()
  if (after - id > maxAheadMs * idUnitsPerMs) {
    const reason = 'an existing id is more than a minute ahead, so the clocks of two instances differ'
    throw databaseError('PLINTH_DATABASE_NO_IDS', { reason })
  }
  while (id <= after) id = db.newId()
  return id
}

/** Returns the time at which an id was created, in milliseconds since the epoch. */
export const timeOfId = (id: number): number => Math.floor(id / idUnitsPerMs) + epoch

export type IdSourceTables = {
  database_id_node: {
    node: number
    /** End of the reservation, in milliseconds since 2025-01-01 UTC like the ids. */
    reserved_until: number
    holder: string
  }
}

export class IdSource {
  readonly #db: () => Kysely<IdSourceTables>
  readonly #clock: Pick<Clock, 'now'>
  readonly #holder: string
  /** Runs a renewal outside the transaction of the caller. A rollback would otherwise undo the renewal. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #node: number | undefined
  #time = 0
  #counter = 0
  #until = -1
  #renewal: Promise<void> | undefined

  /** @param holder text that no other process uses */
  constructor(db: () => Kysely<IdSourceTables>, clock: Pick<Clock, 'now'>, holder: string) {
    this.#db = db
    this.#clock = clock
    this.#holder = holder
  }

  /** @throws PlinthError `PLINTH_DATABASE_NO_IDS` if no number is reserved yet */
  next(): number {
    if (this.#node === undefined) throw databaseError('PLINTH_DATABASE_NO_IDS', { reason: 'the database is not ready' })
    const now = this.#now()
    if (now > this.#time && now <= this.#until) {
      this.#time = now
      this.#counter = 0
    } else if (this.#counter < counters - 1) {
      this.#counter++
    } else if (this.#time < this.#until) {
      this.#time++
      this.#counter = 0
    } else {
      throw databaseError('PLINTH_DATABASE_NO_IDS', { reason: 'the database has not responded for too long' })
    }
    if (Math.max(now, this.#time) > this.#until - reservation / 2) this.#renewUnnoticed()
    return (this.#time * nodes + this.#node) * counters + this.#counter
  }

  /** True while a number is reserved. */
  get isClaimed(): boolean {
    return this.#node !== undefined
  }

  async claim(): Promise<void> {
    if (this.#node === undefined) await this.#outside(() => this.#renew())
    if (this.#node === undefined) {
      throw databaseError('PLINTH_DATABASE_NO_IDS', { reason: 'no process number could be reserved' })
    }
  }

  /** Extends the reservation. If this succeeds, the database accepts writes. */
  async renew(): Promise<void> {
    if (this.#node !== undefined) await this.#outside(() => this.#renew())
  }

  async release(): Promise<void> {
    await this.#renewal?.catch(() => undefined)
    if (this.#node === undefined) return
    const node = this.#node
    this.#node = undefined
    await this.#update(node).set({ reserved_until: this.#time }).execute()
  }

  /**
   * Starts a renewal and ignores errors: the reservation is still valid for minutes, and the next attempt follows soon.
   */
  #renewUnnoticed(): void {
    this.#outside(() => this.#renew()).catch(() => undefined)
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#reserve().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #reserve(): Promise<void> {
    const until = Math.max(this.#now(), this.#time) + reservation
    if (this.#node !== undefined) {
      const { numUpdatedRows } = await this.#update(this.#node).set({ reserved_until: until }).executeTakeFirstOrThrow()
      if (numUpdatedRows === 1n) {
        this.#until = until
        return
      }
    }
    const { node, after } = await this.#take(until)
    this.#node = node
    this.#time = Math.max(this.#time + 1, after + 1)
    this.#counter = 0
    this.#until = Math.max(until, this.#time)
  }

  #update(node: number) {
    return this.#db().updateTable('database_id_node').where('node', '=', node).where('holder', '=', this.#holder)
  }

  /**
   * Reserves the process number whose reservation expired first, or a new one. `after` is the last time for which the
   * former owner of the number may have created ids.
   */
  async #take(until: number): Promise<{ readonly node: number; readonly after: number }> {
    const db = this.#db()
    for (;;) {
      const free = await db
        .selectFrom('database_id_node')
        .select(['node', 'reserved_until'])
        .where('reserved_until', '<', this.#now())
        .orderBy('reserved_until')
        .limit(1)
        .executeTakeFirst()
      if (free !== undefined) {
        const { numUpdatedRows } = await db
          .updateTable('database_id_node')
          .set({ reserved_until: until, holder: this.#holder })
          .where('node', '=', free.node)
          .where('reserved_until', '=', free.reserved_until)
          .executeTakeFirstOrThrow()
        if (numUpdatedRows === 1n) return { node: free.node, after: Number(free.reserved_until) }
        continue
      }
      const { last } = await db
        .selectFrom('database_id_node')
        .select((q) => q.fn.max('node').as('last'))
        .executeTakeFirstOrThrow()
      const node = last === null ? 0 : Number(last) + 1
      if (node >= nodes) throw databaseError('PLINTH_DATABASE_NO_ID_NODE', { nodes })
      try {
        await db.insertInto('database_id_node').values({ node, reserved_until: until, holder: this.#holder }).execute()
        return { node, after: -1 }
      } catch (error) {
        // Another process has reserved the same number, so try again.
        const rival = await db
          .selectFrom('database_id_node')
          .select('holder')
          .where('node', '=', node)
          .executeTakeFirst()
        if (rival === undefined) throw error
      }
    }
  }

  #now(): number {
    return Math.max(0, Math.floor(this.#clock.now()) - epoch)
  }
}

/** Returns a time in the unit of `reserved_until`. */
export const reservationTime = (ms: number): number => Math.max(0, Math.floor(ms) - epoch)
