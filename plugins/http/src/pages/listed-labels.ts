import type { Label, LabelSource } from './page-declaration.ts'

/** Names that one question for a text answers. */
export const mostLabels = 20

/** Labels whose id or name holds a text, whatever the case; at most 20. */
export function labelsWith(labels: readonly Label[], text: string): readonly Label[] {
  const wanted = text.toLowerCase()
  const holds = (value: string | number) => String(value).toLowerCase().includes(wanted)
  return labels.filter(({ id, name }) => holds(id) || holds(name)).slice(0, mostLabels)
}

/**
 * Names of things of which the process knows all, and which belong to no user or organisation.
 *
 * @param labels all of them, in a language
 * @param permission that a caller needs; absent: whoever is signed in may ask
 */
export function listedLabels(labels: (locale: string) => readonly Label[], permission?: string): LabelSource {
  return {
    ...(permission === undefined ? {} : { permission }),
    scope: 'none',
    async byIds(ids, { locale }) {
      const asked = new Set(ids)
      return labels(locale).filter(({ id }) => asked.has(String(id)))
    },
    search: async (text, { locale }) => labelsWith(labels(locale), text),
  }
}
