import type { PageAction, PageChoices, PageForm } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { itemOf, memberAt, type Operation, withoutNull } from './operations.ts'

type Operations = ReadonlyMap<string, Operation>
type Asking = Pick<PageForm, 'choices' | 'options' | 'amounts' | 'defaults'> & Pick<PageAction, 'ask'>

/** Maximum number of choices that the browser reads at a time. It is the largest page of a list. */
const maxChoices = 200

/**
 * Returns how the browser reads the choices of a field. If the user may not call the operation, returns only the
 * permission, which the field then shows.
 * @param call the operation as the browser calls it
 */
export function choicesView(
  { title: _, operation: __, ...choices }: PageChoices,
  call: { readonly allowed: boolean; readonly permission?: string },
  { query }: Operation,
) {
  const { allowed, permission } = call
  if (!allowed) return { allowed, ...(permission === undefined ? {} : { permission }) }
  return { ...choices, ...call, ...('size' in query ? { size: query['size']?.['maximum'] ?? maxChoices } : {}) }
}

/** A form or an action, with the names of its fields and the members that may set parameters of choices. */
interface AskedFields {
  readonly fields: readonly string[]
  readonly operation: Operation
  /** Schema of the object of the page. */
  readonly item: Schema | undefined
}

/** Returns the problems of the choices and the defaults of a form or an action. Each problem is one sentence. */
export function linkedFieldProblems(
  { choices = {}, options = {}, defaults = {}, amounts = {} }: Asking,
  asked: AskedFields,
  operations: Operations,
): readonly string[] {
  return [
    ...Object.entries(choices).flatMap(([name, one]) => [
      ...(asked.fields.includes(name) ? [] : [`"${name}" in "choices" is not a field`]),
      ...(name in options ? [`"${name}" has "choices" and "options": remove one of them`] : []),
      ...choicesProblems(name, one, asked, operations).map((problem) => `the choices of "${name}": ${problem}`),
    ]),
    ...Object.entries(defaults).flatMap(([name, other]) => defaultProblems(name, other, defaults, amounts, asked)),
  ]
}

function choicesProblems(
  field: string,
  { operation: id, value, name, params = {}, query = {}, search }: PageChoices,
  { fields, operation: { body }, item }: AskedFields,
  operations: Operations,
): readonly string[] {
  const operation = operations.get(id)
  if (operation === undefined) return [`no loaded plugin provides the operation "${id}"`]
  const choice = itemOf(operation)
  if (operation.method !== 'GET' || choice === undefined) return [`${id} is not a GET operation that returns a list`]
  const given = [...Object.values(params), ...Object.values(query)]
  return [
    ...[value, ...(name === undefined ? [] : [name])]
      .filter((member) => memberAt(choice, member) === undefined)
      .map((member) => `"${member}" is not a member of an item of ${id}`),
    ...(isSent(memberAt(choice, value), memberAt(body, field))
      ? []
      : [`"${value}" has another type than the field "${field}"`]),
    ...Object.keys(operation.params)
      .filter((one) => !(one in params))
      .map((one) => `the path parameter "${one}" of ${id} is missing`),
    ...Object.keys(params)
      .filter((one) => !(one in operation.params))
      .map((one) => `"${one}" is not in the path of ${id}`),
    ...[...Object.keys(query), ...(search === undefined ? [] : [search])]
      .filter((one) => !(one in operation.query))
      .map((one) => `"${one}" is not a parameter of ${id}`),
    ...given
      .flatMap((source) => ('field' in source ? [source.field] : []))
      .filter((one) => one === field || (!fields.includes(one) && memberAt(item, one) === undefined))
      .map((one) => `"${one}" is neither another field nor a member of the result`),
  ]
}

/** True if the value of an item can be sent as the field, or as an item of the field. */
function isSent(value: Schema | undefined, field: Schema | undefined): boolean {
  const wanted = withoutNull(field)
  const type = wanted?.['type'] === 'array' ? typeOf(wanted.items) : typeOf(wanted)
  return value === undefined || wanted === undefined || typeOf(value) === type
}

/** Returns the JSON type of the values of a schema. An enum has the type of its first value. */
function typeOf(schema: Schema | undefined): string {
  const plain = withoutNull(schema)
  const values = plain?.['enum']
  const type = Array.isArray(values) ? typeof values[0] : plain?.['type']
  return type === 'integer' ? 'number' : String(type)
}

function defaultProblems(
  name: string,
  other: string,
  defaults: Readonly<Record<string, string>>,
  amounts: Readonly<Record<string, unknown>>,
  { fields, operation: { body } }: AskedFields,
): readonly string[] {
  const unknown = [name, other].filter((one) => !fields.includes(one))
  if (unknown.length > 0) return unknown.map((one) => `"${one}" in "defaults" is not a field of the form`)
  const isSame = typeOf(memberAt(body, name)) === typeOf(memberAt(body, other)) && name in amounts === other in amounts
  return [
    ...(isSame ? [] : [`"${name}" has its default from "${other}", which has another type`]),
    ...(leadsBack(name, defaults) ? [`the default of "${name}" leads back to itself`] : []),
  ]
}

function leadsBack(name: string, defaults: Readonly<Record<string, string>>): boolean {
  const passed = new Set<string>()
  let next = defaults[name]
  while (next !== undefined && next !== name && !passed.has(next)) {
    passed.add(next)
    next = defaults[next]
  }
  return next === name
}
