import { type LocalizedText, shape } from '@plinth/kernel'

/** Lets the user choose an object by its name. */
export interface PageLabelPicker {
  /** Kind of objects from which the user chooses; see `labelSources`. */
  readonly labels: string
  /** Replaces the title of the member, which is a title for ids. */
  readonly title?: LocalizedText
  /** Further values that are no objects, with their names. */
  readonly more?: Readonly<Record<string, LocalizedText>>
  /** True if the user may also type a value that no source has. */
  readonly free?: boolean
  /** True if the kind belongs to a plugin that may be missing. The member then has a plain field. */
  readonly optional?: boolean
}

/** Value of a parameter: a constant, or the value of another field of the form or of a member of the page's object. */
export type PageParameter = { readonly field: string } | { readonly value: string | number | boolean }

/**
 * Lets the user choose from the items that an operation returns, for example the cities of a country. A user who may
 * not call the operation types the value instead.
 */
export interface PageChoices {
  /** Id of a GET operation that returns a list. It is called with the permissions of the user. */
  readonly operation: string
  /** Member of an item that contains the value to send. */
  readonly value: string
  /** Member of an item that is shown to the user. Default: `value`. */
  readonly name?: string
  /** Path parameters. */
  readonly params?: Readonly<Record<string, PageParameter>>
  /**
   * Query parameters. While a field that sets a parameter is empty, there are no choices. When the user changes it, the
   * chosen value is cleared.
   */
  readonly query?: Readonly<Record<string, PageParameter>>
  /** Query parameter for the typed text. Without it, the browser searches the first page of items. */
  readonly search?: string
  /** Replaces the title of the member, which is a title for ids. */
  readonly title?: LocalizedText
}

const { text, flag, localized, map, record } = shape

export const labelPickerShape = record<PageLabelPicker>(
  { labels: text },
  { title: localized, more: map(localized), free: flag, optional: flag },
)

const parameters = map({
  type: 'object',
  properties: { field: text, value: shape.scalar },
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
})

export const choicesShape = record<PageChoices>(
  { operation: text, value: text },
  { name: text, params: parameters, query: parameters, search: text, title: localized },
)
