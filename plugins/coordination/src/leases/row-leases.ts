import { type Database, exactInteger, type Parameter } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { databaseNow } from '@plinth/migrations'
import { type Moment, momentOf } from './keep-lease.ts'

/** What this instance knows of a row. */
export interface Sight {
  /** When the row was first seen in its present state. */
  readonly since: Moment
  /** `clock.monotonic` when it was last asked for and still in another state; minus infinity for the first state that was seen. */
  readonly changedAfter: number
}

interface Observation extends Sight, LeaseState {
  lastAsked: number
}

/**
 * Judges leases by when this instance saw their rows change, on its own monotonic clock: two machines need not agree about
 * the time.
 */
export class LeaseWatch<K> {
  readonly #clock: Clock
  readonly #lapseMs: number
  readonly #seen = new Map<K, Observation>()

  /** @param lapseMs milliseconds for which a row stands still until its lease lapses */
  constructor(clock: Clock, lapseMs: number) {
    this.#clock = clock
    this.#lapseMs = lapseMs
  }

  /** @param askedAt `clock.monotonic` before the row was asked for */
  see(key: K, { fence, beat }: LeaseState, askedAt: number): Sight {
    const known = this.#seen.get(key)
    if (known?.fence === fence && known.beat === beat) {
      known.lastAsked = Math.max(known.lastAsked, askedAt)
      return known
    }
    const changedAfter = known?.lastAsked ?? Number.NEGATIVE_INFINITY
    const observation = { fence, beat, since: momentOf(this.#clock), changedAfter, lastAsked: askedAt }
    this.#seen.set(key, observation)
    return observation
  }

  /** Milliseconds until the lease of a held row lapses, 0 or less when it has. */
  leftMs(key: K, state: LeaseState, askedAt: number): number {
    return this.see(key, state, askedAt).since.monotonic + this.#lapseMs - this.#clock.monotonic()
  }

  /** Forgets all other rows. */
  keepOnly(keys: ReadonlySet<K>): void {
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key)
  }
}

/** A piece of SQL with its parameters. */
export interface SqlTerm {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

/**
 * The time by which leases and delays are judged: one clock for all processes, because each of them would otherwise
 * wait by its own. Terms are the same throughout one statement, and an index can answer a comparison with them.
 */
export interface DatabaseTime {
  now(): SqlTerm
  /** The moment that many milliseconds from now. */
  after(ms: number): SqlTerm
  /** Milliseconds from now until the moment in the column, possibly a fraction. */
  until(column: string): SqlTerm
}

const postgresql: DatabaseTime = {
  now: () => ({ sql: 'statement_timestamp()', parameters: [] }),
  after: (ms) => ({ sql: `(statement_timestamp() + ? * interval '1 millisecond')`, parameters: [ms] }),
  until: (column) => ({ sql: `(extract(epoch from ${column} - statement_timestamp()) * 1000)`, parameters: [] }),
}

const mysql: DatabaseTime = {
  now: () => ({ sql: 'utc_timestamp(3)', parameters: [] }),
  after: (ms) => ({ sql: '(utc_timestamp(3) + interval ? microsecond)', parameters: [ms * 1_000] }),
  until: (column) => ({ sql: `(timestampdiff(microsecond, utc_timestamp(3), ${column}) / 1000)`, parameters: [] }),
}

/** A database in a file has no clock of its own: the processes of one host share that of the host. */
const hostTime = (clock: Clock): DatabaseTime => ({
  now: () => ({ sql: '?', parameters: [new Date(clock.now())] }),
  after: (ms) => ({ sql: '?', parameters: [new Date(clock.now() + ms)] }),
  until: (column) => ({ sql: `(${column} - ?)`, parameters: [new Date(clock.now())] }),
})

/** The clock of the database as terms of a statement, for columns that hold moments. */
export const databaseTime = ({ dialect }: Pick<Database, 'dialect'>, clock: Clock): DatabaseTime =>
  ({ sqlite: hostTime(clock), postgresql, mysql, mariadb: mysql })[dialect]

type Now = Pick<Clock, 'now'>

/** The same clock as whole milliseconds since the epoch, for columns that hold such. */
export const databaseMs = ({ dialect }: Pick<Database, 'dialect'>, clock: Now): SqlTerm =>
  dialect === 'sqlite' ? { sql: '?', parameters: [clock.now()] } : { sql: databaseNow[dialect], parameters: [] }

export async function readDatabaseTime(db: Pick<Database, 'dialect' | 'query'>, clock: Now): Promise<number> {
  if (db.dialect === 'sqlite') return clock.now()
  const [row] = await db.query<{ at_ms: unknown }>(`select ${databaseMs(db, clock).sql} as at_ms`)
  return exactInteger(row?.at_ms ?? null)
}

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
