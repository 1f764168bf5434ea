import type { Field, Form } from '../../api/page-types.ts'
import type { Typed } from '../../pages/forms/field-values.ts'
import { nested } from '../../pages/forms/form-state.ts'
import { sampleOf } from '../../pages/forms/sample-values.ts'
import type { MessageTexts } from './compose-queries.ts'
import type { Audience, Variables } from './compose-types.ts'

type Values = Readonly<Record<string, Typed>>

/** A field of a variable has the name of the variable after this prefix. */
const prefix = 'variables.'
export const variableField = (name: string) => prefix + name

/** Returns the value of a variable. Lists and objects remain text, because messages have no such variables. */
function scalarOf(text: unknown): unknown {
  const value = sampleOf(String(text ?? ''))
  return typeof value === 'object' && value !== null ? text : value
}

/** Returns the texts of the message that the user has typed so far. */
export function textsOf(values: Values): MessageTexts {
  const typed = (name: string) => {
    const text = String(values[name] ?? '')
    return text.trim() === '' ? [] : [[name, text] as const]
  }
  const template = typed('template')
  const variables = Object.entries(values).flatMap(([name, text]) =>
    name.startsWith(prefix) && text !== '' ? [[name.slice(prefix.length), scalarOf(text)] as const] : [],
  )
  return {
    ...Object.fromEntries(template.length > 0 ? template : [...typed('subject'), ...typed('content')]),
    ...Object.fromEntries(typed('locale')),
    ...(template.length > 0 && variables.length > 0 ? { variables: Object.fromEntries(variables) } : {}),
  }
}

/** Returns the request body for the members that the form sends. */
export function bodyOf(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return nested(
    Object.fromEntries(
      Object.entries(members).map(([name, value]) => [name, name.startsWith(prefix) ? scalarOf(value) : value]),
    ),
  )
}

/** Returns the fields of the form: those of the declaration, and after the content a field for each variable. */
export function fieldsOf(
  { fields }: Form,
  values: Values,
  variables: Variables,
  audience: readonly Audience[],
): readonly Field[] {
  const isReachingUsers = audience.some((one) => one.audience === 'users')
  const hasText = ['template', 'subject'].some((name) => String(values[name] ?? '').trim() !== '')
  return fields.flatMap((field): readonly Field[] => {
    if (field.name === 'recipientUserIds' && values['allUsers'] === true) return []
    if (field.name === 'recipientUserIds' && isReachingUsers)
      return [{ ...field, required: true, schema: { ...field.schema, minItems: 1 } }]
    if (field.name !== 'content') return [field]
    const own = variables.map(({ name, needed }) => ({
      name: variableField(name),
      title: name,
      required: needed,
      nullable: false,
      schema: { type: 'string', maxLength: 2_000 },
    }))
    return [{ ...field, required: !hasText }, ...own]
  })
}
