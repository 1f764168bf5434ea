import type { ChangeSetDeclaration } from '@plinth/kernel'
import { type Compilable, type Kysely, type RawBuilder, type SchemaModule, sql } from 'kysely'
import type { Dialect } from './dialect.ts'

/** Column type for `addColumn` of Kysely. */
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

/** Maximum length of a text that every database can put into a unique index. */
const maxTextLength = 768

/** Column types that mean the same on every database. */
export interface ColumnTypes {
  /** Primary key or reference to one: an integer from 1 to 2^53 - 1. */
  readonly id: ColumnType
  /** 32-bit integer. */
  readonly integer: ColumnType
  /** 64-bit integer; values must stay within 2^53 - 1. Also for times in milliseconds and amounts in minor units. */
  readonly bigint: ColumnType
  readonly boolean: ColumnType
  /** Text of 1 to 768 code points. Comparisons distinguish case and trailing spaces. */
  text(length: number): ColumnType
  /** Text of any length. It cannot have an index. */
  readonly longText: ColumnType
  /** Time in UTC with milliseconds. */
  readonly timestamp: ColumnType
  /** JSON object or array. */
  readonly json: ColumnType
  /** 256-bit integer as decimal text. */
  readonly uint256: ColumnType
  readonly binary: ColumnType
}

/** @param isForChecksum true to include declared details that the database ignores, such as a length on SQLite */
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

/** The kinds of columns, independent of the database. */
export type ColumnKind = NeutralType | 'text'

const marker = (kind: ColumnKind, length?: number) => sql.raw(`plinth_kind_${kind}(${length ?? ''})`)

/** Column types that only mark the kind, for `tableShapes`. No database understands them. */
export const columnMarkers: ColumnTypes = {
  id: marker('id'),
  integer: marker('integer'),
  bigint: marker('bigint'),
  boolean: marker('boolean'),
  longText: marker('longText'),
  timestamp: marker('timestamp'),
  json: marker('json'),
  uint256: marker('uint256'),
  binary: marker('binary'),
  text: (length) => marker('text', length),
}

/** Returns the kind and the length of a marked column type; `undefined` for another type. */
export function kindOfMarker(type: string): { readonly kind: ColumnKind; readonly length?: number } | undefined {
  const [, kind, length] = /^plinth_kind_(\w+)\((\d*)\)$/.exec(type) ?? []
  if (kind === undefined) return undefined
  return { kind: kind as ColumnKind, ...(length === '' ? {} : { length: Number(length) }) }
}

/**
 * One statement: a builder of Kysely, or `sql` text if the builder does not support the statement. It must not have
 * parameters.
 */
export type Statement = Compilable | RawBuilder<unknown>

export interface SchemaContext {
  readonly schema: SchemaModule
  readonly type: ColumnTypes
  /** Kysely's `sql` tag, for default values and for statements of one database. */
  readonly sql: typeof sql
  readonly dialect: Dialect
}

export interface DataContext {
  /**
   * Runs in the transaction of the change set. It has no types, because the tables have the state of this change set.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the schema of that moment has no type
  readonly db: Kysely<any>
  readonly dialect: Dialect
  /** Returns a new id, for rows that the change set inserts. */
  newId(): number
  /** Returns the current time in milliseconds since the epoch. */
  now(): number
  readonly signal: AbortSignal
}

export interface ChangeSetDefinition extends ChangeSetDeclaration {
  /**
   * Four digits and words, for example `0001-create-user`. Unique in the plugin and never used again. Change sets are
   * applied in the order of their ids.
   */
  readonly id: string
  /**
   * Returns the statements in order. It must be a pure function, because it is also called without a database. Declare
   * unique keys with `createIndex().unique()`, so that they have the same name on every database.
   */
  up?(context: SchemaContext): readonly Statement[]
  /** Changes rows after the statements, in the transaction that records this change set. */
  data?(context: DataContext): Promise<void>
  /** Databases to which the change set applies. Default: all. */
  readonly only?: readonly Dialect[]
  /**
   * Reason why it is safe to drop, rename or change the type of something, or to add a required column without a
   * default. Without a reason, such a change is rejected, because the former version may still run during an upgrade.
   */
  readonly breaking?: string
}

const brand: unique symbol = Symbol.for('plinth.change-set') as never

export interface ChangeSet extends ChangeSetDefinition {
  readonly [brand]: true
}

/** Defines a change set. Problems of the definition are reported when the change set is compiled. */
export function defineChangeSet(definition: ChangeSetDefinition): ChangeSet {
  return Object.freeze({ ...definition, [brand]: true as const })
}

/** Returns true for a result of `defineChangeSet`, even if another copy of this package created it. */
export function isChangeSet(value: unknown): value is ChangeSet {
  return typeof value === 'object' && value !== null && brand in value && value[brand] === true
}
