/** Words that are valid JSON. */
const words = new Set(['true', 'false', 'null'])

/** Returns the value of typed text: a list, an object, a number or a word of JSON, otherwise the text itself. */
export function sampleOf(text: string): unknown {
  const trimmed = text.trim()
  if (words.has(trimmed)) return JSON.parse(trimmed)
  // 007 and 1.50 are texts, because a number would not keep their form.
  if (Number.isFinite(Number(trimmed)) && String(Number(trimmed)) === trimmed) return Number(trimmed)
  if (!/^[[{]/.test(trimmed)) return text
  try {
    return JSON.parse(trimmed)
  } catch {
    return text
  }
}

type Thing = { [name: string]: unknown }
const isThing = (value: unknown): value is Thing => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Builds nested objects from dotted names: `user.name` becomes `name` in `user`. Empty fields are omitted. */
export function samplesOf(typed: Readonly<Record<string, string>>): Thing {
  const made: Thing = Object.create(null)
  const given = Object.entries(typed).filter(([, text]) => text !== '')
  // Shorter names first, so that a parent is created before its members.
  for (const [name, text] of given.sort(([a], [b]) => a.length - b.length)) put(made, name.split('.'), sampleOf(text))
  return made
}

/** A text has no members, so members of a text are omitted. */
function put(thing: Thing, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    thing[name] = value
    return
  }
  thing[name] ??= Object.create(null)
  const inner = thing[name]
  if (isThing(inner)) put(inner, rest, value)
}
