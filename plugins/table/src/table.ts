import { defineEntity } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { type Database, type Entity, type RowOwner, selectionOf } from '@plinth/database'
import type { Localized, PersonalTable } from '@plinth/kernel'
import type { Static, TProperties, TSchema } from 'typebox'
import {
  type ChangeOf,
  type ColumnDescription,
  type Columns,
  type CreateOf,
  type FactsOf,
  localizedOf,
  type Names,
  type RowOf,
  type Text,
  type ViewOf,
} from './columns.ts'
import { personalTablesOf } from './personal-tables.ts'
import {
  type CustomParts,
  type CustomShape,
  customShapeOf,
  type Member,
  type MemberOf,
  type Shape,
  shapeOf,
  type TableShape,
  type ViewContext,
} from './shape.ts'

const entityOf = <const N extends string, const P extends Record<string, object>>(tableName: N, properties: P) =>
  defineEntity({ name: tableName, tableName, properties })
type PropertiesOf<C> = { readonly [K in keyof C]: FactsOf<C[K]>['property'] }
/** The entity of MikroORM, as `defineEntity` returns it. */
export type EntityOf<N extends string, C> = ReturnType<typeof entityOf<N, PropertiesOf<C>>>

/**
 * How a row belongs to users, by property names:
 *
 * - text: column with the id of a user
 * - `user` and `org`: columns with the id of a user, or of an organisation. Either may be null.
 * - `type` and `id`: columns with the type of the owner (`user` for users) and its id as decimal text
 * - `through`: table with the row that belongs to the user. Its column `key` (default `id`) equals `column`.
 */
export type Owner<C> =
  | Names<C, { kind: 'id' }>
  | { readonly user: Names<C, { kind: 'id' }>; readonly org: Names<C, { kind: 'id' }> }
  | { readonly type: keyof C & string; readonly id: keyof C & string }
  | { readonly column: keyof C & string; readonly through: TableDescription; readonly key?: string }

/** Effect of the erasure of a user on the rows of this user. */
export type Erasure<C> =
  | 'removed'
  | { readonly anonymised: Partial<RowOf<C>>; readonly reason: Text }
  | { readonly kept: Text }

/** `none`: rows of the product, which the data scope does not restrict. */
type Ownership<C> =
  | { readonly owner: 'none' }
  | {
      readonly owner: Owner<C>
      readonly erasure: Erasure<C>
      /** Title of the rows in the personal data of a user. Default: "<many> of the user". */
      readonly personalTitle?: Text
      /** Columns that the export of personal data omits, for example data of other users. */
      readonly unexported?: readonly (keyof C & string)[]
    }

/** Columns whose values only one row may have. */
export interface Unique<C> {
  readonly columns: readonly (keyof C & string)[]
  /** Last part of the reason with which a second row is rejected. Without a reason, such a row is an internal error. */
  readonly reason?: string
}

export type TableOptions<C> = Ownership<C> & {
  readonly title: { readonly one: Text; readonly many: Text }
  /** Name of the entity. Default: the table name in PascalCase. */
  readonly entity?: string
  readonly uniques?: readonly Unique<C>[]
  readonly indexes?: readonly (readonly (keyof C & string)[])[]
}

/** Rejects an amount whose unit is in a column that does not exist. */
type KnownUnits<C> = {
  readonly [K in keyof C]: FactsOf<C[K]>['unit'] extends keyof C ? C[K] : 'The column with the unit does not exist.'
}

/** A table at run time. */
export interface TableDescription {
  readonly name: string
  readonly columns: Columns
  readonly entity: Entity
  readonly title: { readonly one: Localized; readonly many: Localized }
  /** How a row belongs to users, by column names of the database; `undefined` for rows of the product. */
  readonly owner: RowOwner | undefined
  /** Properties that decide to whom a row belongs. */
  readonly ownerProperties: readonly string[]
  readonly uniques: readonly Unique<Columns>[]
  /** True with the columns of `c.edits()`. */
  readonly hasEdits: boolean
  /** Returns the rows of users in this table, for `personalData`. */
  personalTables(db: Database): readonly PersonalTable[]
}

export interface Table<N extends string, C>
  extends Omit<TableDescription, 'name' | 'columns' | 'entity'>,
    Shape<RowOf<C>, ViewOf<C>, CreateOf<C>, ChangeOf<C>> {
  readonly name: N
  readonly columns: C
  readonly entity: EntityOf<N, C>
  /**
   * Returns a member that is calculated from the row. It gets no database, so it cannot cause one query per row.
   *
   * @param title `undefined`: the title that the messages of the plugin have for the name of the member
   */
  computed<S extends TSchema>(
    title: Text | undefined,
    schema: S,
    of: (row: RowOf<C>, at: ViewContext) => Static<S>,
  ): Member<RowOf<C>, S>
  /** Returns a member that is read for all rows of a page at once, by the ids of the rows. */
  loaded<S extends TSchema>(
    title: Text | undefined,
    schema: S,
    of: (
      rows: readonly RowOf<C>[],
      at: ViewContext & { readonly em: SqlEntityManager },
    ) => Promise<ReadonlyMap<number, Static<S>>>,
  ): Member<RowOf<C>, S>
  /**
   * Returns another JSON of the same table: fewer columns for other callers, or more members. A member with the name of
   * a column replaces the column in responses.
   *
   * @param parts `only`: the members of responses and the columns of requests, in this order; default: all columns,
   *   then the members
   * @throws TypeError for an unknown name in `only`
   */
  shape<
    M extends Readonly<Record<string, Member<RowOf<C>, TSchema>>> = Record<never, never>,
    const Only extends (keyof ViewOf<C> & string) | (keyof M & string) =
      | (keyof ViewOf<C> & string)
      | (keyof M & string),
  >(parts: {
    readonly only?: readonly Only[]
    readonly members?: M
  }): TableShape<
    C,
    Omit<Pick<ViewOf<C>, Only & keyof ViewOf<C>>, keyof M> & { readonly [K in keyof M & Only]: MemberOf<M[K]> },
    Only
  >
  /** Returns JSON of the same table that is written by hand, for example nested or in other units. See `CustomParts`. */
  customShape<
    View extends TProperties,
    Create extends TProperties = Record<never, never>,
    Change extends TProperties = Record<never, never>,
  >(parts: CustomParts<C, View, Create, Change>): CustomShape<C, View, Create, Change>
}

const pascalCase = (name: string) => name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

/**
 * Describes a table. Returns its entity of MikroORM, the schemas of its JSON, and its personal data. It creates nothing
 * in the database: `plinth migrate draft` writes the change set.
 *
 * @throws TypeError for an owner through a table that has no owner
 */
export function table<const N extends string, C extends Columns>(
  name: N,
  columns: C & KnownUnits<C>,
  options: TableOptions<C>,
): Table<N, C> {
  const { entity: entityName = pascalCase(name), uniques = [], indexes = [], title } = options
  const properties = Object.fromEntries(
    Object.entries<Columns[string]>(columns).map(([key, { property }]) => [key, property]),
  )
  const entity = defineEntity({
    name: entityName,
    tableName: name,
    properties,
    ...(uniques.length === 0 ? {} : { uniques: uniques.map((unique) => ({ properties: [...unique.columns] })) }),
    ...(indexes.length === 0 ? {} : { indexes: indexes.map((index) => ({ properties: [...index] })) }),
  }) as Entity
  const owner = options.owner === 'none' ? undefined : (options.owner as Owner<Columns>)
  const description: TableDescription = {
    name,
    columns,
    entity,
    title: { one: localizedOf(title.one), many: localizedOf(title.many) },
    owner: owner && rowOwnerOf(name, owner, columnNamesOf(entity)),
    ownerProperties: owner === undefined ? [] : ownerPropertiesOf(owner),
    uniques: uniques as readonly Unique<Columns>[],
    hasEdits: Object.values<{ readonly description: ColumnDescription }>(columns).some(
      ({ description }) => description.role === 'edit',
    ),
    personalTables: (db) => personalTablesOf(db, description, options as TableOptions<Columns>),
  }
  const member = (
    of: Pick<Member<object, TSchema>, 'computed' | 'loaded'>,
    title: Text | undefined,
    schema: TSchema,
  ) => ({
    schema,
    title: title && localizedOf(title),
    ...of,
  })
  const whole = {
    ...description,
    ...shapeOf(description, {}),
    computed: (title: Text | undefined, schema: TSchema, computed: never) => member({ computed }, title, schema),
    loaded: (title: Text | undefined, schema: TSchema, loaded: never) => member({ loaded }, title, schema),
    shape: (parts: Parameters<typeof shapeOf>[1]) => shapeOf(description, parts),
    customShape: (parts: Parameters<typeof customShapeOf>[1]) => customShapeOf(description, parts),
  }
  return whole as never
}

/** Returns the names of the columns in the database by property. */
const columnNamesOf = (entity: Entity): ReadonlyMap<string, string> =>
  new Map(selectionOf(entity).columns.map(({ property, name }) => [property, name]))

function rowOwnerOf(table: string, owner: Owner<Columns>, names: ReadonlyMap<string, string>): RowOwner {
  const nameOf = (property: string) => names.get(property) ?? property
  if (typeof owner === 'string') return nameOf(owner)
  if ('user' in owner) return { user: nameOf(owner.user), org: nameOf(owner.org) }
  if ('type' in owner) return { type: nameOf(owner.type), id: nameOf(owner.id) }
  const { column, through, key = 'id' } = owner
  if (through.owner === undefined) throw new TypeError(`${table}: the rows of ${through.name} have no owner.`)
  const linked = columnNamesOf(through.entity).get(key) ?? key
  return { column: nameOf(column), through: through.name, key: linked, owner: through.owner }
}

function ownerPropertiesOf(owner: Owner<Columns>): readonly string[] {
  if (typeof owner === 'string') return [owner]
  if ('through' in owner) return [owner.column]
  return Object.values(owner)
}

/** Returns the unique columns whose violation callers may see. */
export const reasonedUniques = ({ uniques }: TableDescription) =>
  uniques.flatMap(({ columns, reason }) => (reason === undefined ? [] : [{ columns, reason }]))
