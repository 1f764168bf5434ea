/** Words that are parsed as JSON values. */
const words = new Set(['true', 'false', 'null'])

/**
 * Parses typed text. A list, an object, a number and the words of JSON become their value. Any other text stays text.
 */
export function sampleOf(text: string): unknown {
  const trimmed = text.trim()
  if (words.has(trimmed)) return JSON.parse(trimmed)
  // Texts such as 007 and 1.50 stay texts, because a number would lose the zeros.
  if (Number.isFinite(Number(trimmed)) && String(Number(trimmed)) === trimmed) return Number(trimmed)
  if (!/^[[{]/.test(trimmed)) return text
  try {
    return JSON.parse(trimmed)
  } catch {
    return text
  }
}

type Members = { [name: string]: unknown }
const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Builds nested objects from dotted names: `user.name` becomes the member `name` of `user`. Empty fields are omitted.
 */
export function samplesOf(typed: Readonly<Record<string, string>>): Members {
  const made: Members = Object.create(null)
  const given = Object.entries(typed).filter(([, text]) => text !== '')
  // Shorter names come first, so that a parent is created before its members.
  for (const [name, text] of given.sort(([a], [b]) => a.length - b.length)) put(made, name.split('.'), sampleOf(text))
  return made
}

/** Sets a nested member. If a parent is a text, the member is omitted, because a text has no members. */
function put(target: Members, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    target[name] = value
    return
  }
  target[name] ??= Object.create(null)
  const inner = target[name]
  if (isMembers(inner)) put(inner, rest, value)
}
