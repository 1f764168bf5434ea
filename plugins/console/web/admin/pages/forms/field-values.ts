import { type Schema, writtenOf } from '../../../field/schema-rules.ts'
import type { Field, Json } from '../../api/page-types.ts'
import { isStoredFile } from '../../api/row-values.ts'

/* Content of the controls of a form, and the values that they send. */

/** Content of one control: text, a flag, or the parts of a list or structure. It is JSON. */
export type Typed = unknown

/** Returns the values of an enum as texts; `undefined` if the schema also allows other values. */
export function choicesOf(schema: Json): readonly string[] | undefined {
  if (schema['type'] === 'boolean') return ['true', 'false']
  const values = (schema['enum'] ??
    (schema['anyOf'] as readonly Json[] | undefined)?.flatMap((one) => ('const' in one ? [one['const']] : []))) as
    | readonly unknown[]
    | undefined
  return values === undefined || values.length === 0 ? undefined : values.map(String)
}

const numeric = new Set<unknown>(['integer', 'number'])
export const isNumeric = ({ type }: Schema) => numeric.has(type)
export const isList = ({ schema }: Pick<Field, 'schema'>) => schema['type'] === 'array'
export const isStructure = ({ schema }: Pick<Field, 'schema'>) => schema['type'] === 'object'

/** True for a switch. An optional boolean without a default is a choice of three values. */
const isSwitch = ({ schema, required }: Field) =>
  schema['type'] === 'boolean' && (required || schema['default'] !== undefined)

/** Returns the initial content of a field. */
export function initialFieldContent(value: unknown, field: Field): Typed {
  const { schema } = field
  if (typeof value === 'boolean') return isSwitch(field) ? value : String(value)
  if (isSwitch(field)) return schema['default'] === true
  if (isList(field)) {
    const items = Array.isArray(value) ? value : []
    return field.options === undefined ? items : items.map(idOf)
  }
  if (isStructure(field)) return value ?? {}
  if (isStoredFile(value)) return value.id
  return String(value ?? schema['default'] ?? '')
}

/** Returns the id of an object, because a form represents objects by ids. */
const idOf = (item: unknown) =>
  typeof item === 'object' && item !== null && 'id' in item ? String(item.id) : String(item)

/** True if the content is empty: no text, no item, no member. */
export const isEmpty = (typed: Typed): boolean =>
  typed === undefined || typed === '' || (typeof typed === 'object' && Object.keys(typed ?? {}).length === 0)

/**
 * Returns the value to send; `undefined` if the member is omitted. Text that cannot be converted is returned as text,
 * so that it violates a rule.
 */
export function sentOf(typed: Typed, { schema, nullable, required }: Field): unknown {
  if (typeof typed === 'boolean') return typed
  if (isEmpty(typed) && schema['type'] !== 'array' && (nullable || !required || schema['type'] !== 'string'))
    return nullable ? null : undefined
  return schema['type'] === 'boolean' ? typed === 'true' : writtenOf(typed, schema)
}

/** Returns content without the parts that must not be stored. */
export function withoutSecrets(typed: Typed, schema: Schema): Typed {
  if (schema['writeOnly'] === true) return undefined
  if (Array.isArray(typed)) return typed.map((item) => withoutSecrets(item, (schema['items'] ?? {}) as Schema))
  if (typeof typed !== 'object' || typed === null) return typed
  const members = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>
  return Object.fromEntries(
    Object.entries(typed).map(([name, member]) => [name, withoutSecrets(member, members[name] ?? {})]),
  )
}
