import type { Schema } from '@plinth/http'
import { memberAt, type Operation, withoutNull } from './operations.ts'

/** Which files a field accepts, and the operation that stores them. It is part of the schema of a member. */
interface UploadRules {
  readonly operation: string
  readonly types: readonly string[]
  readonly maxBytes: number
}

/** Returns the rules of a member that accepts the id of an upload; `undefined` for other members. */
function uploadRulesOf(schema: Schema | undefined): UploadRules | undefined {
  const rules: unknown = withoutNull(schema)?.['x-upload']
  return isUploadRules(rules) ? rules : undefined
}

const isUploadRules = (rules: unknown): rules is UploadRules =>
  typeof rules === 'object' && rules !== null && 'operation' in rules && 'types' in rules && 'maxBytes' in rules

/** Returns how the browser uploads the file of a field; nothing for a field without a file. */
export function uploadView(
  schema: Schema | undefined,
  operations: ReadonlyMap<string, Operation>,
  callOf: (operation: Operation) => object,
) {
  const rules = uploadRulesOf(schema)
  const operation = operations.get(rules?.operation ?? '')
  if (rules === undefined || operation === undefined) return {}
  return { upload: { ...callOf(operation), types: rules.types, maxBytes: rules.maxBytes } }
}

/** Returns the problems of the fields that accept a file. Each problem is one sentence. */
export function fileFieldProblems(
  fields: readonly string[],
  { body }: Operation,
  operations: ReadonlyMap<string, Operation>,
): readonly string[] {
  return fields.flatMap((name) => {
    const rules = uploadRulesOf(memberAt(body, name))
    return rules === undefined || operations.has(rules.operation)
      ? []
      : [`"${name}" accepts a file, but no loaded plugin provides the operation "${rules.operation}"`]
  })
}

/** True for the schema of a file in a response: an object with its name and its address. */
export const isFile = (schema: Schema): boolean =>
  memberAt(schema, 'name') !== undefined && memberAt(schema, 'url') !== undefined
