import { Type } from '@plinth/config-schema/typebox'
import type { TSchema } from 'typebox'

/** Id of a stored row: assigned by the product, increasing with time, exact in JSON. */
export const id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
export const idParams = Type.Object({ id })

export const count = Type.Integer({ minimum: 0 })

/** A time in ISO 8601, UTC. */
export const instant = Type.String({ format: 'date-time' })

/** Schema of a complete trace id, as a filter: 32 hexadecimal digits, or a UUID. */
export const traceId = Type.String({
  pattern: '^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$',
  maxLength: 36,
})

export const text = Type.String()

/** Schema of a single line without control characters and lone surrogates, which some databases cannot store. */
export const line = (maxLength: number, options: { readonly minLength?: number; readonly description?: string } = {}) =>
  Type.String({ ...options, maxLength, pattern: '^[^\\p{Cc}\\p{Cs}]*$' })

/** Maximum length of the reason for an action, in characters. */
export const maxReasonLength = 200
/** Returns true for a single line that is not blank. */
export const isNonBlankLine = (text: string) => /\S/.test(text) && !/[\p{Cc}\p{Cs}]/u.test(text)
/** Schema of the reason for an action. The header `X-Reason` follows the same rule. */
export const reason = (description: string) =>
  Type.String({
    description: `${description} A single line that is not blank.`,
    maxLength: maxReasonLength,
    'x-worded': true,
  })

export const nullable = <T extends TSchema>(schema: T, options?: { readonly description: string }) =>
  Type.Union([schema, Type.Null()], options)

/** The version that a change is based on. */
export const version = Type.Integer({
  minimum: 1,
  description: 'Version that the caller has read. If the current version differs, the change is rejected.',
})
export const currentVersion = Type.Integer({
  description:
    'Current version. Send it with a change, so that the change is rejected if another user changed the object in the meantime.',
})
export const versionQuery = Type.Object({ version: Type.Optional(version) })

export const affectedCount = Type.Object({ affected: count })
export const nothing = Type.Null()

/**
 * Result of an operation on several rows, for one row.
 *
 * - `done`: the operation was carried out.
 * - `unknown`: the row does not exist, or the caller may not see it.
 * - `changed`: another user changed the row meanwhile, so nothing was done.
 * - `unchanged`: the row already had the requested state.
 */
export const rowOutcomes = ['done', 'unknown', 'changed', 'unchanged'] as const
export type RowOutcome = (typeof rowOutcomes)[number]

/** Response of an operation on several rows. `bulkOutcome` of `@plinth/admin` shows it on a page. */
export const bulkResult = Type.Object({
  affected: count,
  results: Type.Array(Type.Object({ id, outcome: Type.Enum([...rowOutcomes]) }), {
    description: 'What was done with each row of the request, by its id.',
  }),
})

/** Returns the response of an operation on several rows. */
export function bulkResultOf(ids: Iterable<number>, outcomeOf: (id: number) => RowOutcome) {
  const results = [...new Set(ids)].map((id) => ({ id, outcome: outcomeOf(id) }))
  return { affected: results.filter(({ outcome }) => outcome === 'done').length, results }
}

/** Template variable in the response of a live preview; see `PreviewVariable` of `@plinth/admin`. */
export const previewVariable = Type.Object({
  name: Type.String({ description: 'Name of the variable, in dotted form: `user.name` is a member of `user`.' }),
  usedIn: Type.Array(text, { description: 'Members of the request that use the variable.' }),
  needed: Type.Boolean({ description: 'False if the variable is optional.' }),
  given: Type.Boolean({ description: 'True if the request contains a value for the variable.' }),
})

/** A value, and how a page shows it. `described` of `@plinth/admin` creates the column. */
export const describedValue = Type.Object({
  value: Type.Union([text, Type.Array(text)]),
  name: Type.Union([text, Type.Null()], { description: 'Text that is shown instead of the value.' }),
  labels: Type.Union([text, Type.Null()], { description: 'Kind of the objects whose ids the value contains.' }),
  page: Type.Union([text, Type.Null()], { description: 'Page of the back office that the value opens.' }),
  unit: Type.Union([text, Type.Null()], {
    description: 'Asset or currency, if the value is an amount in minor units.',
  }),
})

export const withDescription = <T extends TSchema>(schema: T, description: string): T =>
  Object.assign(Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as T, { description })
