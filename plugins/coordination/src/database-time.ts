import { type Database, exactInteger, type Parameter } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { databaseNow } from '@plinth/migrations'

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
