import { type Database, exactInteger, type Parameter } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { databaseNow } from '@plinth/migrations'
import { type ClockReading, readClocks } from './keep-lease.ts'

/** When this instance saw the current state of a row. */
export interface RowSighting {
  /** When the row was first seen in its current state. */
  readonly since: ClockReading
  /** Monotonic time of the last read that found an earlier state; minus infinity if there was none. */
  readonly changedAfter: number
}

interface Observation extends RowSighting, LeaseState {
  lastAsked: number
}

/**
 * Measures how long a row has not changed, by the monotonic clock of this instance. So the clocks of different machines
 * need not agree.
 */
export class UnchangedRowWatch<K> {
  readonly #clock: Clock
  readonly #lapseMs: number
  readonly #seen = new Map<K, Observation>()

  /** @param lapseMs time in milliseconds without a change after which a lease expires */
  constructor(clock: Clock, lapseMs: number) {
    this.#clock = clock
    this.#lapseMs = lapseMs
  }

  /** @param askedAt monotonic time before the row was read */
  see(key: K, { fence, beat }: LeaseState, askedAt: number): RowSighting {
    const known = this.#seen.get(key)
    if (known?.fence === fence && known.beat === beat) {
      known.lastAsked = Math.max(known.lastAsked, askedAt)
      return known
    }
    const changedAfter = known?.lastAsked ?? Number.NEGATIVE_INFINITY
    const observation = { fence, beat, since: readClocks(this.#clock), changedAfter, lastAsked: askedAt }
    this.#seen.set(key, observation)
    return observation
  }

  /** Returns the milliseconds until the lease of a row expires; 0 or less if it has expired. */
  remainingMs(key: K, state: LeaseState, askedAt: number): number {
    return this.see(key, state, askedAt).since.monotonic + this.#lapseMs - this.#clock.monotonic()
  }

  /** Drops the observations of all other rows. */
  keepOnly(keys: ReadonlySet<K>): void {
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key)
  }
}

/** An SQL fragment with its parameters. */
export interface SqlTerm {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

/**
 * The clock for leases and delays as SQL. All processes use the clock of the database, because their own clocks may
 * differ. A term is constant within a statement, so an index can be used.
 */
export interface DatabaseTime {
  now(): SqlTerm
  /** Time that is `ms` milliseconds from now. */
  after(ms: number): SqlTerm
  /** Milliseconds from now until the time in the column; may have a fraction. */
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

/** SQLite has no clock of a server, so its processes use the clock of their host. */
const hostTime = (clock: Clock): DatabaseTime => ({
  now: () => ({ sql: '?', parameters: [new Date(clock.now())] }),
  after: (ms) => ({ sql: '?', parameters: [new Date(clock.now() + ms)] }),
  until: (column) => ({ sql: `(${column} - ?)`, parameters: [new Date(clock.now())] }),
})

/** Returns the clock of the database as SQL terms for timestamp columns. */
export const databaseTime = ({ dialect }: Pick<Database, 'dialect'>, clock: Clock): DatabaseTime =>
  ({ sqlite: hostTime(clock), postgresql, mysql, mariadb: mysql })[dialect]

type Now = Pick<Clock, 'now'>

/** Returns the clock of the database as whole milliseconds since the epoch, for integer columns. */
export const databaseTimeMsSql = ({ dialect }: Pick<Database, 'dialect'>, clock: Now): SqlTerm =>
  dialect === 'sqlite' ? { sql: '?', parameters: [clock.now()] } : { sql: databaseNow[dialect], parameters: [] }

export async function readDatabaseTime(db: Pick<Database, 'dialect' | 'query'>, clock: Now): Promise<number> {
  if (db.dialect === 'sqlite') return clock.now()
  const [row] = await db.query<{ at_ms: unknown }>(`select ${databaseTimeMsSql(db, clock).sql} as at_ms`)
  return exactInteger(row?.at_ms ?? null)
}

/**
 * State of the lease of a row. `fence` counts its holders, `beat` their heartbeats. Each change increments one of them.
 * So an update that requires both to be unchanged has no effect if the lease has changed.
 */
export interface LeaseState {
  readonly fence: number
  readonly beat: number
}

export interface RowClaim<K> {
  readonly key: K
  readonly fence: number
  /** Moment before the lease was requested. */
  readonly claimedAt: ClockReading
}

/** `holder` is null or absent if the row has no holder. */
interface Holder {
  readonly holder?: string | null | undefined
}

export interface RowLeaseOptions {
  readonly db: Database
  readonly clock: Clock
  /** Name of this process, unique among all processes that ever ran. */
  readonly instance: string
  /** Table with the columns `holder`, `fence` and `beat`. */
  readonly table: string
  readonly key: string
}

const nothing: SqlTerm = { sql: '', parameters: [] }

/**
 * Leases in rows of a table. Each step is one conditional update, so among several instances only one succeeds. `set`
 * contains further assignments (`name = ?`), `where` a further condition. Methods return false or `undefined` if the
 * row has changed.
 */
export class RowLeases<K extends string | number> {
  readonly #parts: RowLeaseOptions

  constructor(parts: RowLeaseOptions) {
    this.#parts = parts
  }

  isOwn({ holder }: Holder): boolean {
    return holder === this.#parts.instance
  }

  async take(key: K, { fence, beat }: LeaseState, set = nothing, where = nothing): Promise<RowClaim<K> | undefined> {
    const { db, clock, instance } = this.#parts
    const claimedAt = readClocks(clock)
    const taken = await this.#update(
      db,
      [{ sql: 'fence = fence + 1, holder = ?', parameters: [instance] }, set],
      [this.#row(key), { sql: 'fence = ? and beat = ? and holder is null', parameters: [fence, beat] }, where],
    )
    return taken ? { key, fence: fence + 1, claimedAt } : undefined
  }

  /** Sends a heartbeat on the reserved connection, so that it works while all other connections are busy. */
  renew(claim: RowClaim<K>, set = nothing): Promise<boolean> {
    return this.#update(this.#parts.db.reserved, [beats, set], [this.#held(claim)])
  }

  release(claim: RowClaim<K>, set: SqlTerm, where = nothing): Promise<boolean> {
    return this.#update(this.#parts.db, [beats, freed, set], [this.#held(claim), where])
  }

  /** Takes the lease from a holder that sends no heartbeats. Afterwards the row has no holder. */
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
