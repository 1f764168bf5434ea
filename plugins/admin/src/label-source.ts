import { extensionPoint, shape } from '@plinth/kernel'

/** Something that an id names, as people call it. */
export interface Label {
  readonly id: string | number
  readonly name: string
}

/** Request of the caller who looks up labels. @plinth/http adds the members of its requests. */
export interface LabelRequest {
  /** Language of the names. */
  readonly locale: string
}

/** Names for the ids of one kind of things, so that pages show and offer names. */
export interface LabelSource {
  /** Permission that a caller needs; absent: every signed-in user may ask. */
  readonly permission?: string
  /** Which rows it names, as for an operation. The source restricts them for `caller`; the console rejects for `all`. */
  readonly scope: 'caller' | 'all' | 'none'
  /**
   * @param ids at most 200; what does not exist, or is not for this caller, is left out
   * @param request of the caller, in whose language names are
   */
  byIds(ids: readonly string[], request: LabelRequest): Promise<readonly Label[]>
  /**
   * @param text at most 100 characters; empty for the first ones
   * @returns at most 20
   */
  search(text: string, request: LabelRequest): Promise<readonly Label[]>
}

/** Sources of names, contributed under the kind of things: `iam.role`. */
export const labelSources = extensionPoint<LabelSource>('console.labels', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  shape: shape.object<LabelSource>(
    { scope: shape.among(['caller', 'all', 'none']), byIds: shape.function, search: shape.function },
    { permission: shape.coded },
  ),
})

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
