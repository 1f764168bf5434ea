/** A violated rule of a form field, with its limit. */
export interface BrokenRule {
  readonly keyword: 'required' | 'confirm' | 'integer' | 'minimum' | 'maximum' | 'maxLength'
  readonly limit?: number
}

/** Rules for the value of a form field. */
interface FieldRules {
  /** `integer` for an integer. Any other word means text. */
  readonly type: string
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  /** Maximum number of characters. */
  readonly maxLength?: number | undefined
}

/**
 * Returns the first rule that a value violates. The page reports it early. The server makes the final decision and has
 * further rules.
 */
export function brokenRule(value: unknown, rules: FieldRules): BrokenRule | undefined {
  const { type, minimum, maximum, maxLength } = rules
  if (type === 'integer') {
    if (!Number.isInteger(value)) return { keyword: 'integer' }
    if (minimum !== undefined && Number(value) < minimum) return { keyword: 'minimum', limit: minimum }
    if (maximum !== undefined && Number(value) > maximum) return { keyword: 'maximum', limit: maximum }
    return undefined
  }
  // The length is counted as on the server: a character outside of the basic multilingual plane counts as one.
  const isTooLong = typeof value === 'string' && maxLength !== undefined && [...value].length > maxLength
  return isTooLong ? { keyword: 'maxLength', limit: maxLength } : undefined
}
