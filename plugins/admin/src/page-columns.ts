import { Type } from '@plinth/config-schema/typebox'
import type { Static, TObject, TProperties } from 'typebox'
import {
  among,
  type DataOf,
  flag,
  labels,
  list,
  localized,
  map,
  named,
  names,
  oneOf,
  optional,
  plainValue,
  record,
  text,
  tone,
} from './page-vocabulary.ts'

const link = optional(flag)
const total = optional(flag)
const texts = optional(labels)

/** Options of each renderer. A column may have the options of its renderer, `title` and `hidden`. */
export const columnOptions = {
  text: {
    /** If true, the text links to the page of the row. */
    link,
    /** For codes that users copy: uses a monospace font and shows a button that copies the text. */
    mono: optional(flag),
    /** Texts for codes. A code without a text is shown as it is. */
    labels: texts,
    /**
     * Links to an external page, which opens in a new window. `base` is a member with an https URL, to which `path` and
     * the value are appended. If this member is empty, there is no link.
     */
    opens: optional(record({ base: named('text'), path: text })),
    /** If true, the value is a trace id. It links to the tracing system if the operator configured an address. */
    trace: optional(flag),
  },
  /** Shows a time in the time zone of the site. With `link`, it opens the page of the row. */
  time: { link },
  count: {
    /** Unit of the number. `ms` and `s` are shown as a duration in words. */
    unit: optional(among(['bytes', 'ms', 's', 'percent'])),
    /**
     * If true, the sum of the displayed rows is shown below the list, for each currency or asset. The browser adds it
     * up, so it costs no query.
     */
    total,
  },
  /**
   * An amount in minor units. It must have either `currency`, or `asset`, or `decimals` with `symbol`. Otherwise the
   * product does not start.
   */
  amount: {
    /** See `count`. */
    total,
    /** Member with the asset (see `amountUnits`) or the currency (ISO 4217, in any case). */
    currency: optional(named('text')),
    /** The asset or currency, if it is the same in all rows. */
    asset: optional(text),
    /** Member with the number of decimal places, 0 to 77. If the member is empty, the amount is shown in minor units. */
    decimals: optional(named('number')),
    /** Member with the symbol, such as `USDT`. */
    symbol: optional(named('text')),
  },
  /** Yes or no, or the text for the value. */
  flag: { labels: texts },
  status: {
    /** Colour of each value. */
    tones: optional(map(tone)),
    labels: texts,
  },
  chips: {
    /** Member that is shown if the items are objects. */
    member: optional(text),
    labels: texts,
  },
  reference: {
    /**
     * The kind of objects, and the page that shows one of them. This is a detail page, or `system-config.centre` for a
     * configuration key. `optional`: the kind belongs to a plugin that may be missing.
     */
    of: optional(record({ labels: text, page: optional(text), optional: optional(flag) })),
    /** Names of values that are no objects. */
    labels: texts,
  },
  json: {},
  difference: {
    /** Member with the old value. The field of the column contains the new value. */
    before: optional(named('any')),
    /** Member with the format of both values. `duration` is shown in words. */
    format: optional(named('any')),
    /** Member with the value that applies where one of both values is missing. */
    fallback: optional(named('any')),
  },
  rows: {},
  html: {},
  described: {},
  file: {},
}

const commonOptions = {
  /** Replaces the title that the route declares for the member. */
  title: optional(localized),
  /** If true, the column is hidden until the user shows it. */
  hidden: optional(flag),
}
/** Options of a column with this renderer. */
export type OptionsOf<Renderer extends keyof typeof columnOptions> = typeof commonOptions &
  (typeof columnOptions)[Renderer] extends infer Members extends TProperties
  ? Static<TObject<Members>>
  : never

const columnMembers = {
  /** Name of the member, or a dotted path. */
  field: text,
  as: among(Object.keys(columnOptions) as (keyof typeof columnOptions)[]),
  ...commonOptions,
  ...columnOptions.text,
  ...columnOptions.count,
  ...columnOptions.amount,
  ...columnOptions.status,
  ...columnOptions.chips,
  ...columnOptions.reference,
  ...columnOptions.difference,
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
