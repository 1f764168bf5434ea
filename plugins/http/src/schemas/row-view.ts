import type { Static, TBoolean, TInteger, TNull, TObject, TSchema, TString, TUnion } from 'typebox'
import { id, instant, nullable, Type, text } from './schema-builders.ts'

/** Columns of a table: a `Selection` of `@plinth/database`. */
interface RowColumns<Row extends object> {
  readonly columns: readonly { readonly property: string; readonly kind: string; readonly isNullable: boolean }[]
  read(row: object): Row
}

/** The schema of a column by its type; `never` where the type does not say it, as for one of several texts. */
type Plain<Value> = [Value] extends [number]
  ? number extends Value
    ? TInteger
    : never
  : [Value] extends [string]
    ? string extends Value
      ? TString
      : never
    : [Value] extends [boolean]
      ? TBoolean
      : [Value] extends [Date]
        ? TString
        : never
type Derived<Value> = null extends Value
  ? [Plain<NonNullable<Value>>] extends [never]
    ? never
    : TUnion<[Plain<NonNullable<Value>>, TNull]>
  : Plain<Value>
type Underived<Row> = {
  [Property in keyof Row]: [Derived<Row[Property]>] extends [never] ? Property : never
}[keyof Row]

type Own<Row> = { readonly [Property in Underived<Row>]: TSchema } & { readonly [Property in keyof Row]?: TSchema }
type Properties<Row, Given> = {
  [Property in keyof Row]: Property extends keyof Given ? Extract<Given[Property], TSchema> : Derived<Row[Property]>
}

/** As an entity manager types a row: columns that may be null may be absent. */
type MaybeAbsent<Row> = {
  readonly [Property in keyof Row as null extends Row[Property] ? never : Property]: Row[Property]
} & { readonly [Property in keyof Row as null extends Row[Property] ? Property : never]?: Row[Property] | undefined }

/** Rows in a response. */
export interface RowView<Row extends object, Schemas extends Record<string, TSchema>> {
  readonly schema: TObject<Schemas>
  /** The columns of the view. A number of milliseconds that the schema calls a moment becomes one. */
  readonly of: (row: MaybeAbsent<Row>) => Static<TObject<Schemas>>
}

const plain: Readonly<Record<string, () => TSchema>> = {
  id: () => id,
  integer: () => Type.Integer(),
  boolean: () => Type.Boolean(),
  text: () => text,
  timestamp: () => instant,
}

const isMoment = (schema: object): boolean =>
  ('format' in schema && schema.format === 'date-time') ||
  ('anyOf' in schema && Array.isArray(schema.anyOf) && schema.anyOf.some(isMoment))

/**
 * The response schema of columns of a table, and the values for it.
 *
 * @param selection the exposed columns: `selectionOf(Entity).pick(...)`
 * @param own schemas that the columns do not say: of the texts that a column may have, of JSON, of moments in milliseconds,
 *   of numbers with a unit
 * @throws TypeError for a JSON or binary column without an own schema
 */
export function viewOf<Row extends object, const Given extends Own<Row>>(
  selection: RowColumns<Row>,
  own: Given,
): RowView<Row, Properties<Row, Given>> {
  const given = own as Readonly<Record<string, TSchema | undefined>>
  const schemas = selection.columns.map(({ property, kind, isNullable }) => {
    const derived = () => {
      const schema = plain[kind]?.()
      if (schema === undefined) throw new TypeError(`${property}: a column of kind ${kind} needs a schema.`)
      return isNullable ? nullable(schema) : schema
    }
    return [property, given[property] ?? derived()] as const
  })
  const moments: ReadonlySet<string> = new Set(schemas.flatMap(([name, schema]) => (isMoment(schema) ? [name] : [])))
  const shown = (name: string, value: unknown) =>
    moments.has(name) && value !== null ? new Date(value as number | Date).toISOString() : value
  return {
    schema: Type.Object(Object.fromEntries(schemas)) as never,
    of: (row) => {
      const values = row as Readonly<Record<string, unknown>>
      return Object.fromEntries(schemas.map(([name]) => [name, shown(name, values[name] ?? null)])) as never
    },
  }
}
