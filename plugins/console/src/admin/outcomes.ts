import type { PageOutcome } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { itemOf, membersOf, type Operation, withoutNull } from './operations.ts'

/** Names of members that say whether the call succeeded. */
const successFlags = ['passed', 'success', 'succeeded', 'verified']

/** Number of levels of nested objects and lists in which an outcome is searched. */
const maxDepth = 2

/** Returns the schema of one object of the result, and for a list that of an item. */
const objectIn = (schema: Schema | undefined): Schema | undefined => {
  const plain = withoutNull(schema)
  return plain?.['type'] === 'array' ? objectIn(plain.items) : plain
}

const resultOf = (operation: Operation) => itemOf(operation) ?? operation.data

/** Returns the schema of a member of the result. A part of its name can be a list. */
function memberIn(schema: Schema | undefined, name: string): Schema | undefined {
  const [first = '', ...rest] = name.split('.')
  const member = membersOf(objectIn(schema))[first]
  return rest.length === 0 ? member : memberIn(member, rest.join('.'))
}

/** Returns the members of a result that say that the call failed although its response is successful. */
function outcomesIn(schema: Schema | undefined, prefix = ''): readonly string[] {
  return Object.entries(membersOf(objectIn(schema))).flatMap(([name, member]) => {
    const path = prefix + name
    if (isOutcome(name, member)) return [path]
    return path.split('.').length > maxDepth ? [] : outcomesIn(member, `${path}.`)
  })
}

/** A member that can be null belongs to an earlier call, for example the outcome of the last run. */
const isOutcome = (name: string, { type, enum: values = [] }: Schema): boolean =>
  type === 'boolean'
    ? successFlags.includes(name)
    : values.length > 0 && (name === 'outcome' || values.includes('failed'))

/** Returns the problems of the outcome of a write: it is missing, or names a member or a value that does not exist. */
export function outcomeProblems(outcome: PageOutcome | undefined, operation: Operation): readonly string[] {
  const result = resultOf(operation)
  if (outcome === undefined) {
    const [found] = operation.method === 'GET' ? [] : outcomesIn(result)
    return found === undefined
      ? []
      : [`the result of ${operation.id} can be a failure ("${found}"): declare in "outcome" which values are good`]
  }
  const member = memberIn(result, outcome.field)
  if (member === undefined) return [`"${outcome.field}" is not a member of the result`]
  const { enum: values } = withoutNull(member) ?? {}
  const unknown = values === undefined ? [] : outcome.good.filter((value) => value !== null && !values.includes(value))
  const { reason } = outcome
  return [
    ...unknown.map((value) => `"${value}" is not a value of "${outcome.field}"`),
    ...(reason === undefined || memberIn(result, reason) !== undefined
      ? []
      : [`"${reason}" is not a member of the result`]),
  ]
}
