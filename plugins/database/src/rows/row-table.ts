import { type EntitySchemaWithMeta, UnderscoreNamingStrategy } from '@mikro-orm/core'
import type { InferKyselyTable } from '@mikro-orm/sql'
import type { Insertable, Selectable, Updateable } from 'kysely'
import { type ColumnKind, columnKindOf, isSmallInteger } from './columns.ts'

/** An entity that MikroORM's `defineEntity` has created. */
export type Entity = EntitySchemaWithMeta

type PropertyTable<E extends Entity> = InferKyselyTable<E, { columnNamingStrategy: 'property' }>

/** A stored row by property names. Nullable columns are `null`, never undefined. */
export type RowOf<E extends Entity> = Readonly<Selectable<PropertyTable<E>>>
/** A row to insert. Nullable columns and columns with a default may be missing. */
export type NewRow<E extends Entity> = Readonly<Insertable<PropertyTable<E>>>
/** New values of some columns. */
export type RowChanges<E extends Entity> = Readonly<Updateable<PropertyTable<E>>>
/** Name of a stored property of an entity. */
export type PropertyOf<E extends Entity> = keyof RowOf<E> & string

/** Rejects members that `Allowed` does not have. TypeScript itself does so only for object literals. */
export type Exactly<Given, Allowed> = Given & Readonly<Record<Exclude<keyof Given & string, keyof Allowed>, never>>

export interface Column {
  /** Name of the property in the entity. */
  readonly property: string
  /** Name of the column in the database. */
  readonly name: string
  readonly kind: ColumnKind
  readonly isNullable: boolean
  readonly isPrimary: boolean
  /** Maximum number of code points; undefined for no limit. */
  readonly length: number | undefined
  /** True for a 32-bit integer. */
  readonly isSmall: boolean
  /** Default of the column; undefined if there is none. Then a row needs a value, unless the column is nullable. */
  readonly default: unknown
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly byProperty: ReadonlyMap<string, Column>
  readonly texts: Map<string, string>
}

const naming = new UnderscoreNamingStrategy()
const tables = new WeakMap<Entity, Table>()

/** @throws TypeError for a property that `column` did not create */
export function tableOf(entity: Entity): Table {
  const known = tables.get(entity)
  if (known !== undefined) return known
  const columns = Object.entries(entity.properties).map(([property, options]): Column => {
    const kind = columnKindOf(options.type)
    if (kind === undefined) throw new TypeError(`${entity.tableName}: ${property} is not a property of \`column\`.`)
    const { fieldName = naming.propertyToColumnName(property), nullable = false, primary = false, type } = options
    return {
      property,
      name: fieldName,
      kind,
      isNullable: nullable,
      isPrimary: primary,
      length: kind === 'text' ? options.length : undefined,
      isSmall: isSmallInteger(type),
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
