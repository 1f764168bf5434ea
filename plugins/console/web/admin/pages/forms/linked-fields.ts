import type { Value } from '../../api/operations.ts'
import type { Choices, Field, Parameter } from '../../api/page-types.ts'
import type { Typed } from './field-values.ts'

/* Fields of a form that depend on other fields: by their default, or by their choices. */

type Values = Readonly<Record<string, Typed>>

const same = (one: Typed, other: Typed) => JSON.stringify(one) === JSON.stringify(other)

/** Returns the names of the fields and members that set parameters of the choices of a field. */
function parameterFields({ choices }: Field): readonly string[] {
  if (choices === undefined || !choices.allowed) return []
  return [...Object.values(choices.params ?? {}), ...Object.values(choices.query ?? {})].flatMap((source) =>
    'field' in source ? [source.field] : [],
  )
}

/**
 * Returns the values after the user has changed a field. A field that follows it changes too. A field whose choices
 * depend on it is cleared.
 *
 * @param follows returns true for a field that still has the value of another one
 */
export function withChange(
  values: Values,
  name: string,
  value: Typed,
  fields: readonly Field[],
  follows: (name: string) => boolean,
): Values {
  if (same(values[name], value)) return values
  let next: Values = { ...values, [name]: value }
  for (const field of fields) {
    if (field.follows === name && follows(field.name)) next = withChange(next, field.name, value, fields, follows)
    else if (field.name !== name && parameterFields(field).includes(name))
      next = withChange(next, field.name, field.schema['type'] === 'array' ? [] : '', fields, follows)
  }
  return next
}

/** Returns the first values with those of the fields that follow another one. A field with a default keeps it. */
export function withDefaults(values: Values, fields: readonly Field[], isNew: (name: string) => boolean): Values {
  const filled = { ...values }
  for (const { name, follows, schema } of fields) {
    if (follows !== undefined && isNew(name) && schema['default'] === undefined) filled[name] = filled[follows]
  }
  return filled
}

/** Returns the fields whose restored value is not that of the field that they follow. The user has changed these. */
export const changedFollowers = (fields: readonly Field[], restored: Values): ReadonlySet<string> =>
  new Set(fields.flatMap(({ name, follows = name }) => (same(restored[name], restored[follows]) ? [] : [name])))

type Parameters = Readonly<Record<string, Value>>

/** The choices of a field, with the values of their parameters. */
export interface KnownChoices {
  readonly choices: Choices
  readonly params: Parameters
  readonly query: Parameters
  /** Name of the first field that is still empty and sets a parameter. Then there are no choices. */
  readonly missing: string | undefined
}

/**
 * Returns the choices of a field for the current values.
 * @param current returns the content of a field, or a member of the object of the page
 */
export function knownChoices(choices: Choices, field: Field, current: (name: string) => unknown): KnownChoices {
  const isEmpty = (name: string) => ['', 'null', 'undefined'].includes(String(current(name)))
  const filled = (sources: Readonly<Record<string, Parameter>> = {}): Parameters =>
    Object.fromEntries(
      Object.entries(sources).map(([name, source]) => [
        name,
        'value' in source ? source.value : String(current(source.field)),
      ]),
    )
  return {
    choices,
    params: filled(choices.params),
    query: filled(choices.query),
    missing: parameterFields(field).find(isEmpty),
  }
}
