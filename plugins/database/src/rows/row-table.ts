import { type EntitySchemaWithMeta, types, UnderscoreNamingStrategy } from '@mikro-orm/core'
import type { InferKyselyTable } from '@mikro-orm/sql'
import type { Insertable, Selectable, Updateable } from 'kysely'
import { type ColumnKind, kindOf } from './columns.ts'

/** An entity of `defineEntity`. */
export type Entity = EntitySchemaWithMeta

type PropertyTable<E extends Entity> = InferKyselyTable<E, { columnNamingStrategy: 'property' }>

/** A stored row of an entity, by the names of its properties. A column that may be null is `null`, never absent. */
export type RowOf<E extends Entity> = Readonly<Selectable<PropertyTable<E>>>
/** A row to insert. Columns that may be null, or that have a default, may be absent. */
export type NewRow<E extends Entity> = Readonly<Insertable<PropertyTable<E>>>
/** New values of some columns. */
export type RowChanges<E extends Entity> = Readonly<Updateable<PropertyTable<E>>>
/** A name of a property of an entity that is stored. */
export type PropertyOf<E extends Entity> = keyof RowOf<E> & string

/** `Given`, without members that `Allowed` does not have: TypeScript checks that for literals alone. */
export type Exactly<Given, Allowed> = Given & Readonly<Record<Exclude<keyof Given & string, keyof Allowed>, never>>

/** A column of the table of an entity. */
export interface Column {
  /** In the entity. */
  readonly property: string
  /** In the database. */
  readonly name: string
  readonly kind: ColumnKind
  readonly isNullable: boolean
  /** Code points of a text that is not long. */
  readonly length: number | undefined
  /** True for an integer of 32 bits. */
  readonly isSmall: boolean
  /** Value of a row that is inserted without one; undefined: the column must have a value, or may be null. */
  readonly default: unknown
}

/** The table of an entity. */
export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly byProperty: ReadonlyMap<string, Column>
  /** Texts of statements, so that each is built once and stays prepared. */
  readonly texts: Map<string, string>
}

const naming = new UnderscoreNamingStrategy()
const tables = new WeakMap<Entity, Table>()

/**
 * The table of an entity, as its definition describes it.
 *
 * @throws TypeError for a property that `column` did not make
 */
export function tableOf(entity: Entity): Table {
  const known = tables.get(entity)
  if (known !== undefined) return known
  const columns = Object.entries(entity.properties).map(([property, options]): Column => {
    const kind = kindOf(options.type)
    if (kind === undefined) throw new TypeError(`${entity.tableName}: ${property} is not a property of \`column\`.`)
    const { fieldName = naming.propertyToColumnName(property), nullable = false, type } = options
    return {
      property,
      name: fieldName,
      kind,
      isNullable: nullable,
      length: kind === 'text' ? options.length : undefined,
      isSmall: type === types.integer,
      default: options.default,
    }
  })
  const byProperty = new Map(columns.map((column) => [column.property, column]))
  const table = { name: entity.tableName, columns, byProperty, texts: new Map<string, string>() }
  tables.set(entity, table)
  return table
}

/** @throws TypeError for a property that the entity does not have */
export function columnOf({ name, byProperty }: Table, property: string): Column {
  const column = byProperty.get(property)
  if (column === undefined) throw new TypeError(`${name} has no column for ${property}.`)
  return column
}
