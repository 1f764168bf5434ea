import { type Options, stringify } from 'csv-stringify/sync'

export type CsvValue = string | number | bigint | boolean | Date | null | undefined

export interface CsvColumn<R> {
  readonly title: string
  value(row: R): CsvValue
}

const batchSize = 500

/** Characters that begin a formula in spreadsheets, with their full-width forms. */
const formulaSign = '[=+\\-@＝＋－＠﹦﹢﹣﹫−]'
/** Characters that may precede a formula in a cell: whitespace, invisible characters and quotes. */
const unseen = '[\\s\\p{Cc}\\p{Cf}\\p{Z}"]'
/** Programs that use another separator than the comma, or no quotes, begin a cell after these characters. */
const cellBegin = '(?:^|[;\\t\\r\\n\\v\\f\\x85\\u2028\\u2029])'
/** Apostrophes are repeated, so that a text with an apostrophe before a formula is read unchanged, too. */
const formulaBegin = new RegExp(`^'*[\\t\\r\\n]|(?<=${cellBegin}${unseen}*)'*${formulaSign}`, 'gu')
const guardBegin = new RegExp(`^'(?='*[\\t\\r\\n])|(?<=${cellBegin}${unseen}*)'(?='*${formulaSign})`, 'gu')

/** Returns a text that no spreadsheet runs as a formula, whatever its separator is (decision A13). */
const guarded = (text: string) => text.replace(formulaBegin, "'$&")

/** Returns the text of a cell that `csvText` has written: without the apostrophes before characters of a formula. */
export const unguardedCell = (text: string): string => text.replace(guardBegin, '')

/** Format of RFC 4180. Texts are quoted; numbers, booleans and dates are not. */
const options: Options = {
  record_delimiter: 'windows',
  quoted_string: true,
  cast: { boolean: String, date: (date) => date.toISOString(), string: guarded },
}

/**
 * Returns rows as CSV text in UTF-8, with a byte order mark for spreadsheets and a header line. Rows are read while the
 * text is consumed. A `'` is inserted before characters that could begin a formula: `=`, `+`, `-`, `@` and their
 * full-width forms at the start of a text or after `;`, a tab or a line break, and a tab or line break at the start.
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
