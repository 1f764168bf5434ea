import { Type } from '@plinth/config-schema/typebox'
import { type LocalizedText, omitUndefined, type Shape, shape } from '@plinth/kernel'
import type { Static, TProperties, TSchema } from 'typebox'

/*
 * Parts of the schemas of pages. A page is described by one TypeBox schema: the type of its declaration, the check at
 * run time, the translation of its texts and the types of the browser are derived from it. A schema with the types of
 * `shape` contains only keywords that the kernel checks.
 */

/**
 * Groups of pages in display order. Each group is one place of the navigation, and its pages are the tabs there. The last
 * one has the own pages of the user, below the user name.
 */
export const pageGroups = [
  'orders',
  'points',
  'ledger',
  'messages',
  'rules',
  'access',
  'audit',
  'jobs',
  'integrations',
  'configuration',
  'product',
  'account',
] as const
export type PageGroup = (typeof pageGroups)[number]

/** Icons of the groups that plugins declare. */
export const groupIcons = [
  'award',
  'book',
  'box',
  'building',
  'calendar',
  'camera',
  'car',
  'chart',
  'database',
  'file',
  'flag',
  'folder',
  'gift',
  'globe',
  'heart',
  'lifebuoy',
  'map',
  'message',
  'school',
  'shield',
  'shop',
  'tag',
  'ticket',
  'tool',
  'truck',
] as const
export type GroupIcon = (typeof groupIcons)[number]

export const tones = ['good', 'info', 'warn', 'bad', 'quiet'] as const
/** Colour of a state. */
export type Tone = (typeof tones)[number]

/** A name that the builders of pages check. `Kind` says what it names, for example a member of the row. */
export interface CheckedName<Kind extends string> {
  readonly '~name': Kind
}
/** An object whose names the builders of pages check. */
export interface CheckedMap<Kind extends string, Value> {
  readonly '~map': Kind
  readonly '~value': Value
}

type ReadonlyData<T> =
  T extends CheckedName<string>
    ? string
    : T extends CheckedMap<string, infer Value>
      ? Readonly<Record<string, ReadonlyData<Value>>>
      : ReadonlyObject<T>
type ReadonlyObject<T> = T extends readonly (infer Item)[]
  ? readonly ReadonlyData<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: ReadonlyData<T[Name]> }
    : T

/** Type of the data that a schema describes. */
export type DataOf<S extends TSchema> = ReadonlyData<Static<S>>

/** Schema with the keywords of a shape, for data of the type `T`. */
export const shaped = <T>(keywords: Shape) => Type.Unsafe<T>(keywords)

/** Returns the keywords of a schema for the kernel. */
export const shapeOf = (schema: TSchema): Shape => schema

/** Schema of an object. Other members are rejected. */
export const record = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false })
export const optional = Type.Optional
export const flag = Type.Boolean()
export const number = Type.Number()
export const text = shaped<string>(shape.text)
export const localized = shaped<LocalizedText>(shape.localized)
/** Schema of a name that the builders check. */
export const named = <const Kind extends string>(_kind: Kind) => shaped<CheckedName<Kind>>(shape.text)
/** Schema of an object whose names the builders check. */
export const mapOf = <const Kind extends string, Value extends TSchema>(_kind: Kind, value: Value) =>
  shaped<CheckedMap<Kind, Static<Value>>>(shape.map(value))
export const scalar = shaped<string | number | boolean>(shape.scalar)
/** A value of a member of a row. */
export const plainValue = shaped<string | number | boolean | null>({})
export const dotted = shaped<string>(shape.dotted)
export const among = <const Value extends string>(values: readonly Value[]) => shaped<Value>(shape.among(values))
export const list = <Item extends TSchema>(item: Item, minItems?: number, maxItems?: number) =>
  Type.Array(item, omitUndefined<{ minItems?: number; maxItems?: number }>({ minItems, maxItems }))
/** Schema of an object with members of any name. */
export const map = <Value extends TSchema>(value: Value) =>
  shaped<Readonly<Record<string, DataOf<Value>>>>(shape.map(value))
/** Schema of an object with exactly one of the members. */
export const oneOf = <T extends object>(properties: Readonly<Record<KeysOf<T>, TSchema>>) =>
  shaped<T>({ type: 'object', properties, additionalProperties: false, minProperties: 1, maxProperties: 1 })
type KeysOf<T> = T extends unknown ? keyof T : never
/** Schema of a text, or of an object of the schema. */
export const textOr = <S extends TSchema>(schema: S) =>
  shaped<string | DataOf<S>>({ ...schema, type: ['string', 'object'] })

export const names = list(text)
export const labels = map(localized)
export const tone = among(tones)
