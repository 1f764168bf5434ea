/** What canonical JSON can hold: no `undefined`, no bigint, no infinite numbers. */
type CanonicalValue =
  | string
  | number
  | boolean
  | null
  | readonly CanonicalValue[]
  | { readonly [name: string]: CanonicalValue }

/**
 * JSON in its one canonical form (RFC 8785): members sorted by UTF-16 code units, no white space, numbers and texts as
 * ECMAScript writes them.
 *
 * @throws RangeError for a number that is not finite and for a text with a lone surrogate: RFC 8785 has no form for them
 */
export function canonicalJson(value: CanonicalValue): string {
  return isSorted(value) ? JSON.stringify(value) : sortedJson(value)
}

/** Whether the members stand in their order already, all the way down; then the usual JSON is the canonical one. */
function isSorted(value: CanonicalValue): boolean {
  if (typeof value === 'string') return assertWellFormed(value)
  if (typeof value === 'number') return assertFinite(value)
  if (typeof value !== 'object' || value === null) return true
  let sorted = true
  if (isList(value)) {
    for (const item of value) sorted = isSorted(item) && sorted
    return sorted
  }
  let before = ''
  for (const name in value) {
    assertWellFormed(name)
    sorted = isSorted(value[name] as CanonicalValue) && before <= name && sorted
    before = name
  }
  return sorted
}

function sortedJson(value: CanonicalValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(sortedJson).join(',')}]`
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${sortedJson(value[name] as CanonicalValue)}`)
  return `{${members.join(',')}}`
}

function assertWellFormed(text: string): true {
  if (!text.isWellFormed()) throw new RangeError('A text with a lone surrogate has no canonical form')
  return true
}

function assertFinite(number: number): true {
  if (!Number.isFinite(number)) throw new RangeError(`${number} has no canonical form`)
  return true
}

/** `Array.isArray` does not know lists that cannot be changed. */
const isList = (value: object): value is readonly CanonicalValue[] => Array.isArray(value)
