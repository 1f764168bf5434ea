import type { Database, Parameter } from '@plinth/database'
import type { Clock } from '@plinth/kernel'

/** A piece of SQL with its parameters. */
export interface SqlTerm {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

/**
 * The time by which retries and leases are judged: one clock for all processes, because each of them would otherwise
 * wait by its own. Terms are the same throughout one statement, and an index can answer a comparison with them.
 */
export interface OutboxTime {
  now(): SqlTerm
  /** The moment that many milliseconds from now. */
  after(ms: number): SqlTerm
  /** Milliseconds from now until the moment in the column, possibly a fraction. */
  until(column: string): SqlTerm
}

const postgresql: OutboxTime = {
  now: () => ({ sql: 'statement_timestamp()', parameters: [] }),
  after: (ms) => ({ sql: `(statement_timestamp() + ? * interval '1 millisecond')`, parameters: [ms] }),
  until: (column) => ({ sql: `(extract(epoch from ${column} - statement_timestamp()) * 1000)`, parameters: [] }),
}

const mysql: OutboxTime = {
  now: () => ({ sql: 'utc_timestamp(3)', parameters: [] }),
  after: (ms) => ({ sql: '(utc_timestamp(3) + interval ? microsecond)', parameters: [ms * 1_000] }),
  until: (column) => ({ sql: `(timestampdiff(microsecond, utc_timestamp(3), ${column}) / 1000)`, parameters: [] }),
}

/** A database in a file has no clock of its own: the processes of one host share that of the host. */
const hostTime = (clock: Clock): OutboxTime => ({
  now: () => ({ sql: '?', parameters: [new Date(clock.now())] }),
  after: (ms) => ({ sql: '?', parameters: [new Date(clock.now() + ms)] }),
  until: (column) => ({ sql: `(${column} - ?)`, parameters: [new Date(clock.now())] }),
})

/** The clock of the database server. */
export const databaseTime = ({ dialect }: Database, clock: Clock): OutboxTime =>
  ({ sqlite: hostTime(clock), postgresql, mysql, mariadb: mysql })[dialect]
