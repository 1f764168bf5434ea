import type { ChangeSetDeclaration } from '@plinth/kernel'
import type { Compilable, Kysely, RawBuilder, SchemaModule, sql } from 'kysely'
import type { ColumnTypes } from './column-types.ts'
import type { Dialect } from './dialect.ts'

/** One statement: a finished schema builder, or `sql` text for what it cannot say. Without parameters. */
export type Statement = Compilable | RawBuilder<unknown>

export interface SchemaContext {
  /** Kysely's schema builder. */
  readonly schema: SchemaModule
  /** The column types of the database at hand. */
  readonly type: ColumnTypes
  /** Kysely's `sql` tag, for defaults and for steps of one database. */
  readonly sql: typeof sql
  readonly dialect: Dialect
}

export interface DataContext {
  /** Runs inside the change set's transaction. Its tables are as this change set left them, so it is not typed. */
  // biome-ignore lint/suspicious/noExplicitAny: the schema of that moment has no type
  readonly db: Kysely<any>
  readonly dialect: Dialect
  /** A fresh id of the application. */
  newId(): number
  /** Milliseconds since the epoch. */
  now(): number
  readonly signal: AbortSignal
}

export interface ChangeSetDefinition extends ChangeSetDeclaration {
  /** Four digits and words, `0001-create-user`; unique in its plugin and never reused. Applied in this order. */
  readonly id: string
  /**
   * The statements, in order. A pure function: it runs for planning too, without a database. Unique keys are indexes
   * (`createIndex().unique()`), because only those have the same name everywhere.
   */
  up?(context: SchemaContext): readonly Statement[]
  /** Changes rows, after the statements, in one transaction with the record of this change set. */
  data?(context: DataContext): Promise<void>
  /** Databases that it is for; all when absent. */
  readonly only?: readonly Dialect[]
  /**
   * Why a change that drops, renames or retypes something, or adds a required column without a default, is safe.
   * Without it such a change is refused: the version that still runs during an upgrade would break.
   */
  readonly breaking?: string
}

const brand: unique symbol = Symbol.for('plinth.change-set') as never

export interface ChangeSet extends ChangeSetDefinition {
  readonly [brand]: true
}

/** Defines a change set. Problems are found when it is compiled, together with the place. */
export function defineChangeSet(definition: ChangeSetDefinition): ChangeSet {
  return Object.freeze({ ...definition, [brand]: true as const })
}

/** True for what `defineChangeSet` made, also by another copy of this package. */
export function isChangeSet(value: unknown): value is ChangeSet {
  return typeof value === 'object' && value !== null && (value as { [brand]?: unknown })[brand] === true
}
