/** Words that are JSON as they stand. */
const words = new Set(['true', 'false', 'null'])

/** What is meant by what was typed: a list, a thing, a number or a word of JSON, else the text itself. */
export function sampleOf(text: string): unknown {
  const trimmed = text.trim()
  if (words.has(trimmed)) return JSON.parse(trimmed)
  // 007 and 1.50 are texts: as numbers they would be written otherwise.
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

/** Values by dotted names as things: `user.name` in `user`. What was left empty is not given. */
export function samplesOf(typed: Readonly<Record<string, string>>): Thing {
  const made: Thing = Object.create(null)
  const given = Object.entries(typed).filter(([, text]) => text !== '')
  // What holds others comes first.
  for (const [name, text] of given.sort(([a], [b]) => a.length - b.length)) put(made, name.split('.'), sampleOf(text))
  return made
}

/** A text has no members: what should be in one is left out. */
function put(thing: Thing, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    thing[name] = value
    return
  }
  thing[name] ??= Object.create(null)
  const inner = thing[name]
  if (isThing(inner)) put(inner, rest, value)
}
