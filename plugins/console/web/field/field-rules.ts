import { type Schema, Validator } from '@cfworker/json-schema'

/** A rule that a value breaks: the keyword of its schema, and its limit. */
export interface BrokenRule {
  readonly keyword: string
  readonly limit?: string | number
}

/**
 * The first rule of a schema that a value breaks. One value, one schema: a key may hold dots without being taken for a
 * path. Needs no `eval`, so that it runs under a strict policy. The server has the last word; this is the early hint.
 */
export function brokenRule(value: unknown, schema: Schema): BrokenRule | undefined {
  const { valid, errors } = new Validator(schema, '2020-12').validate(value)
  if (valid) return undefined
  const keyword = errors[0]?.keyword ?? 'type'
  const limit = schema[keyword]
  return typeof limit === 'string' || typeof limit === 'number' ? { keyword, limit } : { keyword }
}
