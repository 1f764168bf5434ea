/** A rule that a value breaks: which one, and its limit. */
export interface BrokenRule {
  readonly keyword: 'required' | 'confirm' | 'integer' | 'minimum' | 'maximum' | 'maxLength'
  readonly limit?: number
}

/** What a field says about its values. */
interface FieldRules {
  /** `integer`, or a text for every other word. */
  readonly type: string
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  /** Characters. */
  readonly maxLength?: number | undefined
}

/** The first rule that a value breaks. The server has the last word and knows more; this is the early hint. */
export function brokenRule(value: unknown, rules: FieldRules): BrokenRule | undefined {
  const { type, minimum, maximum, maxLength } = rules
  if (type === 'integer') {
    if (!Number.isInteger(value)) return { keyword: 'integer' }
    if (minimum !== undefined && Number(value) < minimum) return { keyword: 'minimum', limit: minimum }
    if (maximum !== undefined && Number(value) > maximum) return { keyword: 'maximum', limit: maximum }
    return undefined
  }
  // As the server counts them: a sign outside of the basic plane is one.
  const isTooLong = typeof value === 'string' && maxLength !== undefined && [...value].length > maxLength
  return isTooLong ? { keyword: 'maxLength', limit: maxLength } : undefined
}
