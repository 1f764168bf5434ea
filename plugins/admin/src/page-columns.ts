import { Type } from '@plinth/config-schema/typebox'
import {
  among,
  type DataOf,
  flag,
  labels,
  list,
  localized,
  map,
  names,
  oneOf,
  optional,
  plainValue,
  record,
  text,
  tone,
} from './page-vocabulary.ts'

const renderers = [
  ...(['text', 'time', 'count', 'amount', 'flag', 'status', 'chips', 'reference', 'json', 'difference'] as const),
  ...(['rows', 'html', 'described', 'file'] as const),
]

const columnMembers = {
  /** Name of the member, or a dotted path. */
  field: text,
  as: among(renderers),
  /** Replaces the title that the route declares for the member. */
  title: optional(localized),
  /** If true, the text links to the page of the row. */
  link: optional(flag),
  /**
   * For `text`: links to an external page, which opens in a new window. `base` is a member with an https URL, to which
   * `path` and the value are appended. If this member is empty, there is no link.
   */
  opens: optional(record({ base: text, path: text })),
  /** For codes that users copy: uses a monospace font and shows a button that copies the text. */
  mono: optional(flag),
  /** If true, the column is hidden until the user shows it. */
  hidden: optional(flag),
  /** For `count`: the unit of the number. `ms` and `s` are shown as a duration in words. */
  unit: optional(among(['bytes', 'ms', 's', 'percent'])),
  /**
   * For `count` and `amount`: if true, the sum of the displayed rows is shown below the list, for each currency or
   * asset. The browser adds it up, so it costs no query.
   */
  total: optional(flag),
  /** For `status`: the colour of each value. */
  tones: optional(map(tone)),
  /**
   * For `text`, `status`, `flag`, `chips` and filters: the text for each value. For `reference`: the names of values that
   * are no objects.
   */
  labels: optional(labels),
  /** For `chips`: the member that is shown if the items are objects. */
  member: optional(text),
  /**
   * For `reference`: the kind of objects, and the page that shows one of them. This is a detail page, or
   * `system-config.centre` for a configuration key. `optional`: the kind belongs to a plugin that may be missing.
   */
  of: optional(record({ labels: text, page: optional(text), optional: optional(flag) })),
  /** For `difference`: the member with the old value. `field` contains the new value. */
  before: optional(text),
  /** For `difference`: the member with the format of both values. `duration` is shown in words. */
  format: optional(text),
  /** For `difference`: the member with the value that applies where one of both values is missing. */
  fallback: optional(text),
  /**
   * For `amount` in minor units: the member with the asset (see `amountUnits`) or the currency (ISO 4217, in any case).
   * An amount must have either `currency`, or `asset`, or `decimals` with `symbol`. Otherwise the product does not
   * start.
   */
  currency: optional(text),
  /** For `amount`: the asset or currency, if it is the same in all rows. */
  asset: optional(text),
  /**
   * For `amount`: the member with the number of decimal places, 0 to 77. If the member is empty, the amount is shown in
   * minor units.
   */
  decimals: optional(text),
  /** For `amount` with `decimals`: the member with the symbol, such as `USDT`. */
  symbol: optional(text),
}
const plainColumn = record(columnMembers)

/** How a member of a response is shown. */
export interface PageColumn extends DataOf<typeof plainColumn> {
  /** For `rows`: the columns of each item. */
  readonly columns?: readonly PageColumn[]
}

const columnsOf = (inner: object) =>
  Type.Unsafe<readonly PageColumn[]>(list(record({ ...columnMembers, columns: optional(inner) })))
/** Items of a list column cannot contain another list column. */
export const columns = columnsOf(columnsOf({ type: 'array', maxItems: 0 }))

const value = oneOf<
  | { readonly field: string }
  | { readonly list: readonly string[] }
  | { readonly value: string | number | boolean | null }
>({ field: text, list: names, value: plainValue })
/** Value that is sent: from a member of the row, from several members, or a constant. */
export type PageValue = DataOf<typeof value>
export const values = map(value)
