import type { ChangeSetDeclaration } from '@plinth/kernel'
import { type Compilable, type Kysely, type RawBuilder, type SchemaModule, sql } from 'kysely'
import type { Dialect } from './dialect.ts'

/** A column type in one dialect, for `addColumn`. */
export type ColumnType = RawBuilder<unknown>

type NeutralType = 'id' | 'integer' | 'bigint' | 'boolean' | 'longText' | 'timestamp' | 'json' | 'uint256' | 'binary'

const table: Readonly<Record<NeutralType, Readonly<Record<'sqlite' | 'postgresql' | 'mysql', string>>>> = {
  id: { sqlite: 'integer', postgresql: 'bigint', mysql: 'bigint' },
  integer: { sqlite: 'integer', postgresql: 'integer', mysql: 'int' },
  bigint: { sqlite: 'bigint', postgresql: 'bigint', mysql: 'bigint' },
  boolean: { sqlite: 'integer', postgresql: 'boolean', mysql: 'tinyint(1)' },
  longText: { sqlite: 'text', postgresql: 'text', mysql: 'longtext' },
  timestamp: { sqlite: 'datetime', postgresql: 'timestamptz(3)', mysql: 'datetime(3)' },
  json: { sqlite: 'json', postgresql: 'jsonb', mysql: 'json' },
  uint256: { sqlite: 'text', postgresql: 'varchar(78)', mysql: 'varchar(78)' },
  binary: { sqlite: 'blob', postgresql: 'bytea', mysql: 'longblob' },
}

/** Length of the longest text that every database can put into a unique index. */
const maxTextLength = 768

/** Column types with the same meaning on every database. */
export interface ColumnTypes {
  /** Primary keys and references: an id of the application, 1 to 2^53 - 1. */
  readonly id: ColumnType
  /** 32-bit integer. */
  readonly integer: ColumnType
  /** 64-bit integer; values stay within 2^53 - 1. Also for epoch milliseconds and amounts in minor units. */
  readonly bigint: ColumnType
  readonly boolean: ColumnType
  /** Text of at most `length` code points, 1 to 768. Compared exactly, including case and trailing blanks. */
  text(length: number): ColumnType
  /** Text of any length. Cannot be indexed. */
  readonly longText: ColumnType
  /** Time in UTC with milliseconds. */
  readonly timestamp: ColumnType
  /** A JSON object or array. */
  readonly json: ColumnType
  /** 256-bit integer as decimal text. */
  readonly uint256: ColumnType
  readonly binary: ColumnType
}

/** @param isForChecksum true for types that contain what was declared, even if the type of the database does not */
export function columnTypes(dialect: Dialect, isForChecksum = false): ColumnTypes {
  const family = dialect === 'mariadb' ? 'mysql' : dialect
  const of = (type: NeutralType) => sql.raw(table[type][family])
  return {
    id: of('id'),
    integer: of('integer'),
    bigint: of('bigint'),
    boolean: of('boolean'),
    longText: of('longText'),
    timestamp: of('timestamp'),
    json: of('json'),
    uint256: of('uint256'),
    binary: of('binary'),
    text: (length) => {
      if (!Number.isInteger(length) || length < 1 || length > maxTextLength) {
        throw new RangeError(`text(${length}): the length is 1 to ${maxTextLength}; longer text is longText`)
      }
      return sql.raw(dialect === 'sqlite' && !isForChecksum ? 'text' : `varchar(${length})`)
    },
  }
}

/**
 * One statement: a complete schema builder, or `sql` text for statements that the builder does not support. Without
 * parameters.
 */
export type Statement = Compilable | RawBuilder<unknown>

export interface SchemaContext {
  /** Kysely's schema builder. */
  readonly schema: SchemaModule
  /** Column types of the current database. */
  readonly type: ColumnTypes
  /** Kysely's `sql` tag, for defaults and for statements of one database. */
  readonly sql: typeof sql
  readonly dialect: Dialect
}

export interface DataContext {
  /**
   * Runs inside the transaction of the change set. It is not typed, because the tables have the state of this change
   * set.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the schema of that moment has no type
  readonly db: Kysely<any>
  readonly dialect: Dialect
  /** Returns a new id of the application. */
  newId(): number
  /** Milliseconds since the epoch. */
  now(): number
  readonly signal: AbortSignal
}

export interface ChangeSetDefinition extends ChangeSetDeclaration {
  /**
   * Four digits and words, `0001-create-user`. Unique within its plugin and never reused. Change sets are applied in
   * this order.
   */
  readonly id: string
  /**
   * Returns the statements in order. A pure function: planning also calls it, without a database. Declare unique keys
   * as indexes (`createIndex().unique()`), because only those have the same name on every database.
   */
  up?(context: SchemaContext): readonly Statement[]
  /** Changes rows after the statements, in the same transaction as the record of this change set. */
  data?(context: DataContext): Promise<void>
  /** Databases that it applies to; all when absent. */
  readonly only?: readonly Dialect[]
  /**
   * Reason why it is safe to drop, rename or retype something, or to add a required column without a default. Without a
   * reason such a change is rejected, because it would break the former version that still runs during an upgrade.
   */
  readonly breaking?: string
}

const brand: unique symbol = Symbol.for('plinth.change-set') as never

export interface ChangeSet extends ChangeSetDefinition {
  readonly [brand]: true
}

/** Defines a change set. Problems are reported with their place when it is compiled. */
export function defineChangeSet(definition: ChangeSetDefinition): ChangeSet {
  return Object.freeze({ ...definition, [brand]: true as const })
}

/** True for results of `defineChangeSet`, also of another copy of this package. */
export function isChangeSet(value: unknown): value is ChangeSet {
  return typeof value === 'object' && value !== null && brand in value && value[brand] === true
}
