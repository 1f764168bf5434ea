import type { SqlEntityManager } from '@mikro-orm/sql'
import { selectionOf } from '@plinth/database'
import { nullable, Type, version, viewOf } from '@plinth/http'
import type { Localized } from '@plinth/kernel'
import type { Static, TObject, TProperties, TSchema } from 'typebox'
import {
  type ChangeOf,
  type ColumnDescription,
  type CreateOf,
  type Names,
  type RowOf,
  type ViewOf,
  withTitle,
} from './columns.ts'
import type { TableDescription } from './table.ts'

/** Circumstances of a response. */
export interface ViewContext {
  /** Time of the database. */
  readonly now: Date
  /** Language of the request. */
  readonly locale: string
}

/** A member of responses that is not a column. */
export interface Member<in Row, S extends TSchema> {
  readonly title: Localized | undefined
  readonly schema: S
  readonly computed?: (row: Row, at: ViewContext) => unknown
  readonly loaded?: (
    rows: readonly Row[],
    at: ViewContext & { readonly em: SqlEntityManager },
  ) => Promise<ReadonlyMap<number, unknown>>
}
export type MemberOf<M> = M extends { readonly schema: infer S extends TSchema } ? Static<S> : never

/** The JSON of a row: what responses and requests contain. A table is its own shape. */
export interface Shape<Row extends object, View extends object, Create extends object, Change extends object> {
  /** For the compiler only. Never set. */
  readonly '~json'?: { readonly row: Row; readonly view: View; readonly create: Create; readonly change: Change }
  /** The table whose rows the shape shows. */
  readonly of: TableDescription
  /** Schemas of the response and of both requests, for routes by hand. */
  readonly schemas: { readonly view: TObject; readonly create: TObject; readonly change: TObject }
  /** Members of responses by name, in their order, that are not columns. */
  readonly members: Readonly<Record<string, Member<never, TSchema>>>
  /** Long texts that no response needs, so that lists do not read them. */
  readonly unread: readonly string[]
  /** Returns the responses for rows. `loaded` members cost one call for all rows. */
  viewsOf(rows: readonly Row[], at: ViewContext & { readonly em: SqlEntityManager }): Promise<View[]>
  /** Returns the columns that a request contains. */
  rowOf(request: Create | Change): Partial<Row>
}

/**
 * JSON that is written by hand. Members of responses and requests with the name of a column have its value.
 *
 * - `view`: schema of responses
 * - `viewOf`: returns the response for a row. Needed if a member is not a column, or has another value.
 * - `create`, `change`: schemas of requests; default: no members. `change` may contain `version`. `prepare` of the
 *   operation returns the columns for members that are not columns, or have another value.
 */
export type CustomParts<C, View extends TProperties, Create extends TProperties, Change extends TProperties> = {
  readonly view: TObject<View>
  readonly create?: TObject<Create>
  readonly change?: TObject<Change>
} & (keyof View extends keyof ViewOf<C>
  ? { readonly viewOf?: (row: RowOf<C>, at: ViewContext) => Static<TObject<View>> }
  : { readonly viewOf: (row: RowOf<C>, at: ViewContext) => Static<TObject<View>> })
export type CustomShape<
  C,
  View extends TProperties,
  Create extends TProperties,
  Change extends TProperties,
> = OfTable<C> &
  Shape<RowOf<C>, Static<TObject<View>>, Static<TObject<Create>>, Omit<Static<TObject<Change>>, 'version'>>

interface OfTable<C> {
  readonly '~columns'?: C
}
export type TableShape<C, View extends object, Only> = OfTable<C> &
  Shape<
    RowOf<C>,
    View,
    Pick<CreateOf<C>, keyof CreateOf<C> & (Only | HiddenInput<C>)>,
    Pick<ChangeOf<C>, keyof ChangeOf<C> & (Only | HiddenInput<C>)>
  >
type HiddenInput<C> = Names<C, { shown: false; write: 'edit' | 'create' }>

type Row = Readonly<Record<string, unknown>>

interface ShapeParts {
  readonly only?: readonly string[]
  readonly members?: Readonly<Record<string, Member<never, TSchema>>>
}

/** @throws TypeError for an unknown name in `only` */
export function shapeOf(table: TableDescription, { only, members = {} }: ShapeParts): Shape<Row, Row, Row, Row> {
  const columns = Object.entries(table.columns).map(([name, { description }]) => [name, description] as const)
  const shown = columns.filter(([, { isShown }]) => isShown).map(([name]) => name)
  const names = only ?? [...shown, ...Object.keys(members).filter((name) => !shown.includes(name))]
  const unknown = names.filter((name) => members[name] === undefined && !shown.includes(name))
  if (unknown.length > 0) throw new TypeError(`${table.name} has no member ${unknown.join(', ')} in responses.`)
  const isPart = (name: string, { isShown }: ColumnDescription) => !isShown || only === undefined || only.includes(name)

  const stored = names.filter((name) => members[name] === undefined)
  const viewSchemas = Object.fromEntries(
    columns.map(([name, { viewSchema, isNullable, title }]) => [
      name,
      withTitle(isNullable ? nullable(viewSchema) : viewSchema, title),
    ]),
  )
  const view = viewOf(selectionOf(table.entity).pick(...(stored as never[])), viewSchemas as never)
  const added = Object.entries(members).filter(([name]) => names.includes(name))

  const inputOf = ({ inputSchema, isNullable, title }: ColumnDescription) =>
    withTitle(isNullable ? nullable(inputSchema) : inputSchema, title)
  const writable = columns.filter(([name, one]) => one.write !== 'never' && isPart(name, one))
  return {
    of: table,
    members: Object.fromEntries(added),
    unread: added.length > 0 ? [] : longTextsBeside(table, stored),
    schemas: {
      view: Type.Object(
        Object.fromEntries(names.map((name) => [name, schemaOf(members[name]) ?? viewSchemas[name]])) as never,
      ),
      create: Type.Object(Object.fromEntries(writable.map(([name, one]) => [name, createSchemaOf(one, inputOf(one))]))),
      change: Type.Object({
        ...Object.fromEntries(
          writable.flatMap(([name, one]) => (one.write === 'edit' ? [[name, Type.Optional(inputOf(one))]] : [])),
        ),
        ...(table.hasEdits ? { version: Type.Optional(version) } : {}),
      }),
    },
    async viewsOf(rows, at) {
      if (added.length === 0) return rows.map((row) => view.of(row as never) as Row)
      const loaded = await Promise.all(
        added.map(async ([name, { loaded }]) => [name, await loaded?.(rows as never[], at)] as const),
      )
      const byName = new Map(loaded)
      return rows.map((row) => {
        const own = added.map(([name, { computed }]) => [
          name,
          computed === undefined ? byName.get(name)?.get(Number(row['id'])) : computed(row as never, at),
        ])
        return { ...(view.of(row as never) as Row), ...Object.fromEntries(own) }
      })
    },
    rowOf: (request) => columnsIn(request, Object.fromEntries(writable)),
  }
}

export function customShapeOf(
  table: TableDescription,
  { view, viewOf: of, create, change }: CustomParts<never, TProperties, TProperties, TProperties>,
): Shape<Row, Row, Row, Row> {
  const shown = Object.keys(view.properties).filter((name) => table.columns[name]?.description.isShown)
  const byName = viewOf(selectionOf(table.entity).pick(...(shown as never[])), view.properties as never)
  const requests = { create: create ?? Type.Object({}), change: change ?? Type.Object({}) }
  const asked = { ...requests.create.properties, ...requests.change.properties }
  const writable = Object.entries(table.columns).flatMap(([name, { description }]) =>
    name in asked && description.write !== 'never' ? [[name, description] as const] : [],
  )
  return {
    of: table,
    members: {},
    unread: of === undefined ? longTextsBeside(table, shown) : [],
    schemas: { view, ...requests },
    viewsOf: async (rows, at) => rows.map((row) => Object(of === undefined ? byName.of(row) : of(row as never, at))),
    rowOf: (request) => columnsIn(request, Object.fromEntries(writable)),
  }
}

const longTextsBeside = ({ columns }: TableDescription, shown: readonly string[]) =>
  Object.keys(columns).filter((name) => columns[name]?.description.kind === 'longText' && !shown.includes(name))

/** Returns the columns that a request contains. */
const columnsIn = (request: Row, writable: Readonly<Record<string, ColumnDescription>>): Row =>
  Object.fromEntries(
    Object.entries(writable).flatMap(([name, { kind }]) => {
      const value = request[name]
      if (value === undefined) return []
      return [[name, kind === 'time' && value !== null ? new Date(String(value)) : value]]
    }),
  )

/**
 * Checks the columns of new rows whose values come from requests with this schema, or by default.
 *
 * @throws TypeError if a column that must have a value gets none
 */
export function assertValuesGiven({ name, columns }: TableDescription, create: TObject): void {
  const lacking = Object.entries(columns).flatMap(([property, { description }]) => {
    const { isNullable, isCreation = false, defaultValue, role = 'user' } = description
    const isSet = isNullable || isCreation || defaultValue !== undefined || role !== 'user' || property === 'id'
    return isSet || property in create.properties ? [] : [property]
  })
  if (lacking.length > 0)
    throw new TypeError(
      `${name}: new rows need a value of ${lacking.join(', ')}, from the shape, a default or prepare.`,
    )
}

/** @throws TypeError for a property that is no column */
export function assertColumns({ name, columns }: TableDescription, row: Row): void {
  const unknown = Object.keys(row).find((property) => columns[property] === undefined)
  if (unknown !== undefined) throw new TypeError(`${name} has no column ${unknown}.`)
}

const schemaOf = (member: Member<never, TSchema> | undefined) => member && withTitle(member.schema, member.title)

/** A default appears in the create schema only. In a change, it would replace the stored value. */
function createSchemaOf({ isNullable, defaultValue }: ColumnDescription, schema: TSchema): TSchema {
  if (!isNullable && defaultValue === undefined) return schema
  const isPlain = ['string', 'number', 'boolean'].includes(typeof defaultValue)
  return Object.assign(Type.Optional(schema), isPlain ? { default: defaultValue } : {})
}
