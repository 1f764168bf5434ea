import { type Options, stringify } from 'csv-stringify/sync'

export type CsvValue = string | number | bigint | boolean | Date | null | undefined

export interface CsvColumn<R> {
  readonly title: string
  value(row: R): CsvValue
}

/** Rows that are in memory at a time. */
const batchSize = 500

/**
 * RFC 4180. Spreadsheets take texts that begin with `=`, `+`, `-`, `@`, a tab or a carriage return for formulas: a `'`
 * before them makes them texts (decision A13). Numbers stay numbers.
 */
const options: Options = {
  record_delimiter: 'windows',
  escape_formulas: true,
  // Some readers end a row at either.
  quoted_match: /[\r\n]/,
  cast: { boolean: String, date: (date) => date.toISOString() },
}

/**
 * Rows as the text of a CSV file in UTF-8, with a byte order mark for spreadsheets and a line of titles. Rows are taken as
 * the text is read.
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
