/** Source text of a primitive value, which `JSON.parse` passes to its reviver. TypeScript does not declare it yet. */
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown

/** A number as text, so that no digit is lost. */
class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/**
 * Returns JSON text without insignificant differences: members are sorted, the last of equal names counts, and numbers
 * are written in one form, with all their digits. PostgreSQL stores JSON in a form of its own, so texts differ although
 * their values are equal.
 *
 * @throws SyntaxError
 */
export function canonicalJson(text: string): string {
  return write(
    parse(text, (_, value, { source }) =>
      typeof value === 'number' && source !== undefined ? new ExactNumber(canonicalNumber(source)) : value,
    ),
  )
}

function write(value: unknown): string {
  if (value instanceof ExactNumber) return value.text
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(',')}}`
}

/** Returns digits and exponent without zeros at the ends: 1.50 becomes 15e-1. */
function canonicalNumber(source: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length)
  return `${sign}${significant}e${power}`
}

/** Returns the number of nested objects and arrays; 0 for a primitive value. */
export function jsonDepth(value: unknown): number {
  let depth = 0
  let level = [value]
  for (;;) {
    level = level.filter((one) => typeof one === 'object' && one !== null)
    if (level.length === 0) return depth
    depth++
    level = level.flatMap((one) => Object.values(one as object))
  }
}
