import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'

/** An id and its name for people. */
export interface Label {
  readonly id: string | number
  readonly name: string
}

/** Request of a caller for labels. @plinth/http adds the members of its requests. */
export interface LabelRequest {
  /** Language of the names. */
  readonly locale: string
}

/** Names for the ids of one kind, so that pages can show and offer names. */
export interface LabelSource {
  /** Required permission. Default: any signed-in user. */
  readonly permission?: string
  /**
   * Scope of the rows, as for an operation. The source restricts the rows for `caller`. The console rejects the call
   * for `all` without the data scope.
   */
  readonly scope: 'caller' | 'all' | 'none'
  /**
   * @param ids at most 200; unknown ids and ids out of scope are omitted
   * @param request request of the caller, with the language of the names
   */
  byIds(ids: readonly string[], request: LabelRequest): Promise<readonly Label[]>
  /**
   * @param text at most 100 characters; empty for the first ones
   * @returns at most 20
   */
  search(text: string, request: LabelRequest): Promise<readonly Label[]>
}

/** Sources of display names. Each is contributed under the kind of object that it names, for example `iam.role`. */
export const labelSources = extensionPoint<LabelSource>('console.labels', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  shape: shape.object<LabelSource>(
    { scope: shape.among(['caller', 'all', 'none']), byIds: shape.function, search: shape.function },
    { permission: shape.coded },
  ),
})

/** Maximum number of labels per search. */
export const maxLabels = 20

/** Returns at most 20 labels whose id or name contains a text, in any case. */
export function labelsWith(labels: readonly Label[], text: string): readonly Label[] {
  const expected = text.toLowerCase()
  const holds = (value: string | number) => String(value).toLowerCase().includes(expected)
  return labels.filter(({ id, name }) => holds(id) || holds(name)).slice(0, maxLabels)
}

/**
 * Source for a complete list of labels that belong to no user or organisation.
 * @param labels returns all of them in a language
 * @param permission required permission; default: any signed-in user
 */
export function listedLabels(labels: (locale: string) => readonly Label[], permission?: string): LabelSource {
  return {
    ...(permission === undefined ? {} : { permission }),
    scope: 'none',
    async byIds(ids, { locale }) {
      const requested = new Set(ids)
      return labels(locale).filter(({ id }) => requested.has(String(id)))
    },
    search: async (text, { locale }) => labelsWith(labels(locale), text),
  }
}

/** Unit of amounts in one asset or currency. 1234 minor units of scale 2 are shown as 12.34. */
export interface AmountUnit {
  readonly displayName: LocalizedText
  /** Decimal places of the minor unit, 0 to 18. */
  readonly scale: number
  /** Symbol next to the number, such as `USDT`; for a currency its ISO 4217 code. Default: the name. */
  readonly symbol?: string
}

/** Units by the code that rows use, contributed under any name. Read on use. */
export const amountUnits = extensionPoint<() => ReadonlyMap<string, AmountUnit>>('console.amount-units', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  shape: shape.function,
})
