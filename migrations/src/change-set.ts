import type { ChangeSetDeclaration } from '@plinth/kernel'
import type { Compilable, Kysely, RawBuilder, SchemaModule, sql } from 'kysely'
import type { ColumnTypes } from './column-types.ts'
import type { Dialect } from './dialect.ts'

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
  return typeof value === 'object' && value !== null && (value as { [brand]?: unknown })[brand] === true
}
