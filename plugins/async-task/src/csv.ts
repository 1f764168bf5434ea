import { type Options, stringify } from 'csv-stringify/sync'

export type CsvValue = string | number | bigint | boolean | Date | null | undefined

export interface CsvColumn<R> {
  readonly title: string
  value(row: R): CsvValue
}

/** Rows that are in memory at a time. */
const batchSize = 500

/** What spreadsheets begin a formula with, in all its widths. */
const formulaSign = '[=+\\-@＝＋－＠﹦﹢﹣﹫−]'
/** What may stand between the beginning of a cell and its formula: blanks of all kinds, and what cannot be seen. */
const unseen = '[\\s\\p{Cc}\\p{Cf}\\p{Z}"]'
/** A program that takes another sign than the comma for the separator, or no quotes at all, begins a cell after these. */
const cellBegin = '(?:^|[;\\t\\r\\n\\v\\f\\x85\\u2028\\u2029])'
const formulaBegin = new RegExp(`^[\\t\\r\\n]|(?<=${cellBegin}${unseen}*)${formulaSign}`, 'gu')

/** A text that no spreadsheet takes for a formula, however it separates cells (decision A13). */
const guarded = (text: string) => text.replace(formulaBegin, "'$&")

/** RFC 4180. Every text is in quotes; numbers, truth values and dates are not, and numbers stay numbers. */
const options: Options = {
  record_delimiter: 'windows',
  quoted_string: true,
  cast: { boolean: String, date: (date) => date.toISOString(), string: guarded },
}

/**
 * Rows as the text of a CSV file in UTF-8, with a byte order mark for spreadsheets and a line of titles. Rows are taken as
 * the text is read. What is read of it are the texts that were given, but with a `'` before what could begin a formula: a tab or
 * line break at the beginning of a text, and `=`, `+`, `-`, `@` and their wide forms at the beginning or after `;`, a tab or a
 * line break, with blanks, quotes and characters that cannot be seen between or without.
 */
export async function* csvText<R>(
  columns: readonly CsvColumn<R>[],
  rows: AsyncIterable<R> | Iterable<R>,
): AsyncGenerator<string> {
  yield stringify([columns.map(({ title }) => title)], { ...options, bom: true })
  let batch: CsvValue[][] = []
  for await (const row of rows) {
    batch.push(columns.map((column) => column.value(row)))
    if (batch.length < batchSize) continue
    yield stringify(batch, options)
    batch = []
  }
  if (batch.length > 0) yield stringify(batch, options)
}
