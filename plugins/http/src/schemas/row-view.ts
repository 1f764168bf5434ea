import { Type } from '@plinth/config-schema/typebox'
import type { Static, TBoolean, TInteger, TNull, TObject, TSchema, TString, TUnion } from 'typebox'
import { id, instant, nullable, text } from './common-schemas.ts'

/** The parts of a `Selection` of `@plinth/database` that are used here. */
interface RowColumns<Row extends object> {
  readonly columns: readonly { readonly property: string; readonly kind: string; readonly isNullable: boolean }[]
  read(row: object): Row
}

/**
 * Schema type of a column by its value type; `never` if the value type is not sufficient, for example for a union of
 * texts.
 */
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

/** A row as MikroORM types it. Nullable columns may be undefined. */
type MaybeAbsent<Row> = {
  readonly [Property in keyof Row as null extends Row[Property] ? never : Property]: Row[Property]
} & { readonly [Property in keyof Row as null extends Row[Property] ? Property : never]?: Row[Property] | undefined }

export interface RowView<Row extends object, Schemas extends Record<string, TSchema>> {
  readonly schema: TObject<Schemas>
  /** Converts a row for the response. Milliseconds become ISO 8601 text if the schema has the format `date-time`. */
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
 * Returns a response schema for columns of a table, and the conversion of rows.
 *
 * @param selection columns of the response: `selectionOf(Entity).pick(...)`
 * @param own schemas of columns whose type is not sufficient: enumerations, JSON, times in milliseconds, numbers with a
 *   unit
 * @throws TypeError for a JSON or binary column without a schema in `own`
 */
export function viewOf<Row extends object, const Given extends Own<Row>>(
  selection: RowColumns<Row>,
  own: Given,
): RowView<Row, Properties<Row, Given>> {
  const given: Readonly<Record<string, TSchema | undefined>> = own
  const schemas = selection.columns.map(({ property, kind, isNullable }) => {
    const derived = () => {
      const schema = plain[kind]?.()
      if (schema === undefined) throw new TypeError(`${property}: a column of kind ${kind} needs a schema.`)
      return isNullable ? nullable(schema) : schema
    }
    return [property, given[property] ?? derived()] as const
  })
  const members = schemas.map(([name, schema]) => ({ name, isMoment: isMoment(schema) }))
  return {
    schema: Type.Object(Object.fromEntries(schemas)) as never,
    of: (row) => {
      const values: Readonly<Record<string, unknown>> = row
      const shown: Record<string, unknown> = {}
      for (const { name, isMoment } of members) {
        const value = values[name] ?? null
        shown[name] = isMoment && value !== null ? new Date(value as number | Date).toISOString() : value
      }
      return shown as never
    },
  }
}
