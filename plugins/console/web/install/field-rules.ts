/** A broken rule with its limit. */
export interface BrokenRule {
  readonly keyword: 'required' | 'confirm' | 'integer' | 'minimum' | 'maximum' | 'maxLength'
  readonly limit?: number
}

/** Rules of a field for its values. */
interface FieldRules {
  /** `integer`; any other word is a text. */
  readonly type: string
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  /** Maximum number of characters. */
  readonly maxLength?: number | undefined
}

/**
 * Returns the first rule that a value breaks, as an early hint. The server makes the final decision and has further
 * rules.
 */
export function brokenRule(value: unknown, rules: FieldRules): BrokenRule | undefined {
  const { type, minimum, maximum, maxLength } = rules
  if (type === 'integer') {
    if (!Number.isInteger(value)) return { keyword: 'integer' }
    if (minimum !== undefined && Number(value) < minimum) return { keyword: 'minimum', limit: minimum }
    if (maximum !== undefined && Number(value) > maximum) return { keyword: 'maximum', limit: maximum }
    return undefined
  }
  // Counted like on the server: a character outside of the basic plane counts as one.
  const isTooLong = typeof value === 'string' && maxLength !== undefined && [...value].length > maxLength
  return isTooLong ? { keyword: 'maxLength', limit: maxLength } : undefined
}
