import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'

export interface Label {
  readonly id: string | number
  readonly name: string
  /** Object whose name is shown before this name, for example the owner of an account, if the caller may see it. */
  readonly owner?: { readonly labels: string; readonly id: string }
}

/** Request for labels. `@plinth/http` adds the members of its requests. */
export interface LabelRequest {
  /** Language in which the names are returned. */
  readonly locale: string
}

/** Source of names for the ids of one kind of objects, so that pages can show names instead of ids. */
export interface LabelSource {
  /** Permission that the caller must have. Default: none, but the caller must be signed in. */
  readonly permission?: string
  /**
   * Data scope of the rows, as for an operation. For `caller`, the source must restrict the rows. For `all`, the
   * console rejects callers without this scope.
   */
  readonly scope: 'caller' | 'all' | 'none'
  /**
   * Returns the labels of these ids.
   *
   * @param ids at most 200; unknown ids, and ids outside the data scope, are omitted
   * @param request request of the caller, with the language of the names
   */
  byIds(ids: readonly string[], request: LabelRequest): Promise<readonly Label[]>
  /**
   * Returns the labels that match a text.
   *
   * @param text at most 100 characters; if it is empty, the first labels are returned
   * @returns at most 20 labels
   */
  search(text: string, request: LabelRequest): Promise<readonly Label[]>
}

/** Sources of names. Each is contributed under the kind of object that it names, for example `iam.role`. */
export const labelSources = extensionPoint<LabelSource>('console.labels', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  shape: shape.object<LabelSource>(
    { scope: shape.among(['caller', 'all', 'none']), byIds: shape.function, search: shape.function },
    { permission: shape.coded },
  ),
})

/** Maximum number of labels that a search returns. */
export const maxLabels = 20

/** Returns at most 20 labels whose id or name contains the text, in any case. */
export function filterLabels(labels: readonly Label[], text: string): readonly Label[] {
  const expected = text.toLowerCase()
  const holds = (value: string | number) => String(value).toLowerCase().includes(expected)
  return labels.filter(({ id, name }) => holds(id) || holds(name)).slice(0, maxLabels)
}

/**
 * Returns a source for a fixed list of labels that belong to no user or organisation.
 *
 * @param labels returns all labels in a language
 * @param permission permission that the caller must have; default: none, but the caller must be signed in
 */
export function createStaticLabelSource(
  labels: (locale: string) => readonly Label[],
  permission?: string,
): LabelSource {
  return {
    ...(permission === undefined ? {} : { permission }),
    scope: 'none',
    async byIds(ids, { locale }) {
      const requested = new Set(ids)
      return labels(locale).filter(({ id }) => requested.has(String(id)))
    },
    search: async (text, { locale }) => filterLabels(labels(locale), text),
  }
}

/** Unit of amounts in an asset or currency. With `scale` 2, 1234 minor units are shown as 12.34. */
export interface AmountUnit {
  readonly displayName: LocalizedText
  /** Number of decimal places of the unit, 0 to 18. */
  readonly scale: number
  /** Symbol next to the number, such as `USDT`. For a currency: its ISO 4217 code. Default: the name. */
  readonly symbol?: string
}

/**
 * Returns the units by the code that rows contain. Contributed under any name. The function is called whenever a page
 * needs the units.
 */
export const amountUnits = extensionPoint<() => ReadonlyMap<string, AmountUnit>>('console.amount-units', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  shape: shape.function,
})
