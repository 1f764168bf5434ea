import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { SqlTerm } from '../database-time.ts'
import { type Moment, momentOf } from './keep-lease.ts'

/**
 * Where the lease of a row stands: `fence` counts who held it, `beat` their signs of life. Every step changes one of them, so
 * whoever saw a state may act on it by a conditional update, and comes too late when it has changed.
 */
export interface LeaseState {
  readonly fence: number
  readonly beat: number
}

/** The lease of a row that this instance holds. */
export interface RowClaim<K> {
  readonly key: K
  readonly fence: number
  /** Before the lease was asked for. */
  readonly claimedAt: Moment
}

/** Of a row that nobody holds it is null or absent. */
interface Holder {
  readonly holder?: string | null | undefined
}

export interface RowLeaseParts {
  readonly db: Database
  readonly clock: Clock
  /** Name of this process in rows, unique among all that ever ran. */
  readonly instance: string
  /** Table with the columns `holder`, `fence` and `beat`. */
  readonly table: string
  /** Column of its primary key. */
  readonly key: string
}

const nothing: SqlTerm = { sql: '', parameters: [] }

/**
 * Leases in rows of a table, each taken, shown to be alive, given back and taken away by one conditional update, so of
 * several instances that try one succeeds. `set` are further assignments of the same update (`name = ?`), `where` a further
 * condition. All answer false, or `undefined`, when the row has changed.
 */
export class RowLeases<K extends string | number> {
  readonly #parts: RowLeaseParts

  constructor(parts: RowLeaseParts) {
    this.#parts = parts
  }

  isOwn({ holder }: Holder): boolean {
    return holder === this.#parts.instance
  }

  async take(key: K, { fence, beat }: LeaseState, set = nothing, where = nothing): Promise<RowClaim<K> | undefined> {
    const { db, clock, instance } = this.#parts
    const claimedAt = momentOf(clock)
    const taken = await this.#update(
      db,
      [{ sql: 'fence = fence + 1, holder = ?', parameters: [instance] }, set],
      [this.#row(key), { sql: 'fence = ? and beat = ? and holder is null', parameters: [fence, beat] }, where],
    )
    return taken ? { key, fence: fence + 1, claimedAt } : undefined
  }

  /** Shows that this instance lives, also while other work keeps all connections. */
  renew(claim: RowClaim<K>, set = nothing): Promise<boolean> {
    return this.#update(this.#parts.db.reserved, [beats, set], [this.#held(claim)])
  }

  /** Gives the lease back. */
  release(claim: RowClaim<K>, set: SqlTerm, where = nothing): Promise<boolean> {
    return this.#update(this.#parts.db, [beats, freed, set], [this.#held(claim), where])
  }

  /** Takes the lease from a holder that shows no sign of life. Nobody holds it then. */
  takeAway(key: K, seen: LeaseState & Holder, set: SqlTerm): Promise<boolean> {
    const state = {
      sql: 'fence = ? and beat = ? and holder = ?',
      parameters: [seen.fence, seen.beat, seen.holder ?? null],
    }
    return this.#update(this.#parts.db, [beats, freed, set], [this.#row(key), state])
  }

  #row(key: K): SqlTerm {
    return { sql: `${this.#parts.key} = ?`, parameters: [key] }
  }

  #held({ key, fence }: RowClaim<K>): SqlTerm {
    return {
      sql: `${this.#parts.key} = ? and fence = ? and holder = ?`,
      parameters: [key, fence, this.#parts.instance],
    }
  }

  async #update(db: Pick<Database, 'execute'>, set: readonly SqlTerm[], where: readonly SqlTerm[]): Promise<boolean> {
    const text = (terms: readonly SqlTerm[], glue: string) =>
      terms.flatMap(({ sql }) => (sql === '' ? [] : [sql])).join(glue)
    const statement = `update ${this.#parts.table} set ${text(set, ', ')} where ${text(where, ' and ')}`
    return (
      (await db.execute(
        statement,
        [...set, ...where].flatMap(({ parameters }) => parameters),
      )) > 0
    )
  }
}

const beats: SqlTerm = { sql: 'beat = beat + 1', parameters: [] }
const freed: SqlTerm = { sql: 'holder = null', parameters: [] }
