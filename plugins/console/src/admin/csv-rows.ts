import { unguardedCell } from '@plinth/async-task'

/** A row of a CSV file with the number of its first line, from 1. */
export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

/** Maximum number of cells of a row, so that the time and the report of a file of separators stay small. */
export const maxCells = 200

/** A quotation mark without an end, or followed by other text. */
export class CsvQuoteError extends Error {
  override readonly name = 'CsvQuoteError'
  readonly line: number

  constructor(line: number) {
    super(`The quotation mark in line ${line} has no end.`)
    this.line = line
  }
}

/** A row with more cells than `maxCells`. */
export class CsvCellsError extends Error {
  override readonly name = 'CsvCellsError'
  readonly line: number

  constructor(line: number) {
    super(`Line ${line} has more than ${maxCells} cells.`)
    this.line = line
  }
}

/** Spreadsheets in some languages separate cells by semicolons. The header decides. */
const separators = /[,;\t]/

/**
 * Reads a CSV file (RFC 4180), with or without a byte order mark, with any line ends. Empty lines are skipped. Apostrophes
 * that the export has inserted before formulas are removed. The time grows with the length of the text, whatever it contains.
 *
 * @param maxRows reading stops after this number of rows
 * @throws CsvQuoteError, CsvCellsError
 */
export function csvRows(text: string, maxRows: number): readonly CsvRow[] {
  const rows: CsvRow[] = []
  const [header = ''] = text
    .replace(/"[^"]*"/g, '')
    .trimStart()
    .split(/[\r\n]/, 1)
  const separator = separators.exec(header)?.[0] ?? ','
  const plain = new RegExp(`[^${separator}\\r\\n]*`, 'y')
  let at = text.startsWith('\uFEFF') ? 1 : 0
  let line = 1
  while (at < text.length && rows.length < maxRows) {
    const first = line
    const cells: string[] = []
    for (;;) {
      if (text[at] === '"') {
        const end = endOfQuoted(text, at)
        if (end === undefined) throw new CsvQuoteError(line)
        const cell = text.slice(at + 1, end).replaceAll('""', '"')
        line += linesIn(cell)
        cells.push(cell)
        at = end + 1
        if (at < text.length && !`${separator}\r\n`.includes(text[at] as string)) throw new CsvQuoteError(line)
      } else {
        plain.lastIndex = at
        cells.push(plain.exec(text)?.[0] ?? '')
        at = plain.lastIndex
      }
      if (text[at] !== separator) break
      if (cells.length === maxCells) throw new CsvCellsError(first)
      at++
    }
    at += text.startsWith('\r\n', at) ? 2 : 1
    line++
    if (cells.some((cell) => cell !== '')) rows.push({ line: first, cells: cells.map(unguardedCell) })
  }
  return rows
}

/** Returns the index of the quotation mark that ends a cell. Two of them are one character of the cell. */
function endOfQuoted(text: string, start: number): number | undefined {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at)
    if (at === -1) return undefined
    if (text[at + 1] !== '"') return at
  }
}

const linesIn = (cell: string) => cell.match(/\r\n|\r|\n/g)?.length ?? 0
