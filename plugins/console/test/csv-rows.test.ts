/** Files of the export are read unchanged, and no text makes the reader fail or slow. */
import { csvText } from '@plinth/async-task'
import { throwsWith } from '@plinth/dev/testing'
import fc from 'fast-check'
import t from 'tap'
import { CsvQuoteError, csvRows } from '../src/admin/csv-rows.ts'

const cell = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc
    .array(
      fc.constantFrom('"', "'", ',', ';', '\t', '\r\n', '\n', '\r', '=', '+', '-', '@', '＝', ' ', '\uFEFF', '1', '券'),
      {
        maxLength: 8,
      },
    )
    .map((parts) => parts.join('')),
)
const tables = fc
  .integer({ min: 1, max: 4 })
  .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 6 }))

async function exported(rows: readonly (readonly string[])[]): Promise<string> {
  const width = rows[0]?.length ?? 1
  const columns = Array.from({ length: width }, (_, at) => ({
    title: `Column ${at}`,
    value: (row: readonly string[]) => row[at],
  }))
  let text = ''
  for await (const part of csvText(columns, rows)) text += part
  return text
}

t.test('an exported file is read unchanged, whatever its texts contain', () =>
  fc.assert(
    fc.asyncProperty(tables, async (rows) => {
      const read = csvRows(await exported(rows), 100)
      const filled = rows.filter((row) => row.some((text) => text !== ''))
      t.same(
        read.slice(1).map(({ cells }) => cells),
        filled,
      )
    }),
  ),
)

t.test('any text is read or rejected with its line, and lines are counted as an editor does', (t) => {
  fc.assert(
    fc.property(cell, cell, cell, (a, b, c) => {
      try {
        for (const { line, cells } of csvRows(`${a},${b}\r\n${c}`, 50)) t.ok(line >= 1 && cells.length >= 1)
      } catch (error) {
        t.ok(error instanceof CsvQuoteError)
      }
    }),
  )
  t.same(csvRows('\uFEFFa;b\r\n\r\n"1\n2";3\n4;5', 9), [
    { line: 1, cells: ['a', 'b'] },
    { line: 3, cells: ['1\n2', '3'] },
    { line: 5, cells: ['4', '5'] },
  ])
  t.same(
    csvRows('a\rb\rc', 2).map(({ cells }) => cells),
    [['a'], ['b']],
    'reading stops after the limit',
  )
  t.end()
})

t.test('a line of one million characters is read in one pass', (t) => {
  const started = performance.now()
  const [plain] = csvRows('x'.repeat(1_000_000), 9)
  const [quoted] = csvRows(`"${'""'.repeat(499_999)}"`, 9)
  t.equal(plain?.cells[0]?.length, 1_000_000)
  t.equal(quoted?.cells[0]?.length, 499_999)
  t.same(csvRows(','.repeat(199), 9), [], 'a line of empty cells is empty')
  throwsWith(t, () => csvRows(','.repeat(999_999), 9), { name: 'CsvCellsError' })
  throwsWith(t, () => csvRows(`"${'x'.repeat(999_999)}`, 9), { name: 'CsvQuoteError' })
  t.comment(`${Math.round(performance.now() - started)} ms`)
  t.end()
})
