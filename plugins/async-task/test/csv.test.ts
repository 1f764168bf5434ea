import { setImmediate as turn } from 'node:timers/promises'
import { type CsvValue, csvText } from '@plinth/async-task'
import { manualClock, rejectsWith } from '@plinth/dev/testing'
import fc from 'fast-check'
import t from 'tap'

async function textOf(rows: readonly (readonly CsvValue[])[], titles: readonly string[] = ['a', 'b']): Promise<string> {
  const columns = titles.map((title, index) => ({ title, value: (row: readonly CsvValue[]) => row[index] }))
  let text = ''
  for await (const part of csvText(columns, rows)) text += part
  return text
}

/** Returns the cells of a CSV text by RFC 4180. */
function parse(text: string): string[][] {
  const rows: string[][] = [[]]
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  const body = text.replace(/^\ufeff/, '')
  while (cell.lastIndex < body.length) {
    const at = cell.lastIndex
    const match = cell.exec(body)
    if (match === null) throw new Error(`no cell at ${at}: ${JSON.stringify(body.slice(at, at + 40))}`)
    rows.at(-1)?.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    if (match[3] !== ',') rows.push([])
  }
  rows.pop()
  return rows
}

/** Characters that start a formula in spreadsheets. */
const signs = '=+-@＝＋－＠﹦﹢﹣﹫−'
/** Characters that are invisible, or that other programs remove. */
const unseen = [' ', '\t', '\r', '\n', '\v', '\0', '\u00a0', '\u3000', '\u200b', '\u2028', '\ufeff', '"']

/** Reference implementation of the protection against formulas, as documented. It works character by character. */
function guarded(text: string): string {
  let result = /^'*[\t\r\n]/.test(text) ? "'" : ''
  let isBegin = true
  for (const [at, letter] of [...text].entries()) {
    // Apostrophes before a sign are part of it. Another one is inserted, so that they can be told apart.
    const first = [...text].slice(at).find((one) => one !== "'") ?? ''
    if (first !== '' && signs.includes(first) && isBegin) result += "'"
    if (/[;\t\r\n\v\f\x85\u2028\u2029]/.test(letter)) isBegin = true
    else if (!/[\s\p{Cc}\p{Cf}\p{Z}"]/u.test(letter)) isBegin = false
    result += letter
  }
  return result
}

/**
 * Splits a text into cells as a spreadsheet program with this separator would.
 *
 * @param knowsQuotes true if the program interprets a quote at the start of a cell
 */
function cellsBy(separator: string, text: string, knowsQuotes: boolean): string[] {
  const cells = ['']
  let isQuoted = false
  const letters = text.replace(/^\ufeff/, '')
  for (let at = 0; at < letters.length; at++) {
    const letter = letters.charAt(at)
    const cell = cells.at(-1) as string
    const isDoubled = isQuoted && letter === '"' && letters[at + 1] === '"'
    if (isDoubled) at += 1
    if (letter === '"' && knowsQuotes && !isDoubled && (isQuoted || cell === '')) isQuoted = !isQuoted
    else if (!isQuoted && (letter === separator || letter === '\n' || letter === '\r')) cells.push('')
    else cells[cells.length - 1] = cell + letter
  }
  return cells
}

const isFormula = (cell: string) =>
  new RegExp(`^[\\s\\p{Cc}\\p{Cf}\\p{Z}"]*[${signs.replace('-', '\\-')}]`, 'u').test(cell)

t.test('N-156 a cell cannot be a formula', async (t) => {
  for (const bad of [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    '＝1',
    '＋1',
    '－1',
    '＠a',
    '=cmd|"/c calc"!A1',
    '\ttext',
    '\ntext',
  ]) {
    const [, [cell] = []] = parse(await textOf([[bad, '']]))
    t.equal(cell, `'${bad}`, JSON.stringify(bad))
  }
  for (const [bad, good] of [
    ['foo;=1+1', "foo;'=1+1"],
    ['foo; "=1+1', `foo; "'=1+1`],
    ['foo\n=1+1', "foo\n'=1+1"],
    ['\n=1', "'\n'=1"],
    ['\t=1', "'\t'=1"],
    ['\r=1', "'\r'=1"],
    ['\u00a0=1', "\u00a0'=1"],
    ['\u3000＝1', "\u3000'＝1"],
    ['"=1"', `"'=1"`],
    ["'=1", "''=1"],
    ['a=1 - 2', 'a=1 - 2'],
    ['me@example.com', 'me@example.com'],
  ] as const) {
    const [, [cell] = []] = parse(await textOf([[bad, '']]))
    t.equal(cell, good, JSON.stringify(bad))
  }
  const [titles] = parse(await textOf([], ['=1', 'plain']))
  t.same(titles, [`'=1`, 'plain'], 'neither can a title')
  const [, numbers] = parse(await textOf([[-5, -5n]]))
  t.same(numbers, ['-5', '-5'], 'numbers are numbers')

  const awkward = fc.string({ unit: fc.constantFrom(...signs, ...unseen, ';', ',', "'", 'a', '1'), maxLength: 12 })
  const anyText = fc.oneof(awkward, fc.string({ unit: 'binary' }), fc.string())
  const anyRows = fc.array(fc.tuple(anyText, anyText), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(anyRows, async (rows) => {
      const text = await textOf(rows)
      const read = parse(text).slice(1)
      t.strictSame(
        read,
        rows.map((row) => row.map(guarded)),
      )
      for (const separator of [';', '\t', ',']) {
        const found = cellsBy(separator, text, true).filter(isFormula)
        if (found.length > 0) throw new Error(`by ${JSON.stringify(separator)}: ${JSON.stringify(found)}`)
      }
      for (const separator of [';', '\t']) {
        const found = cellsBy(separator, text, false).filter(isFormula)
        if (found.length > 0) throw new Error(`plainly by ${JSON.stringify(separator)}: ${JSON.stringify(found)}`)
      }
    }),
    { numRuns: 500 },
  )
})

t.test('every text is quoted, and is unchanged unless it begins a formula', async (t) => {
  const harmless = fc.string({ unit: 'grapheme' }).filter((text) => guarded(text) === text)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(harmless, fc.integer()), { minLength: 1, maxLength: 5 }), async (rows) => {
      const text = await textOf(rows)
      t.strictSame(
        parse(text).slice(1),
        rows.map(([cell, number]) => [cell, String(number)]),
      )
      const [[first, number]] = rows as [[string, number]]
      return (
        text.split('\r\n').length < rows.length + 2 || text.includes(`\r\n"${first.replaceAll('"', '""')}",${number}`)
      )
    }),
  )
})

t.test('the cost of a long cell is proportional to its length', async (t) => {
  // With a quadratic algorithm this test would take hours.
  const blanks = ' \t;'.repeat(300_000)
  for (const cell of [blanks, `a${blanks}=1`, '=;'.repeat(300_000), ';='.repeat(300_000)]) {
    const [, [read] = []] = parse(await textOf([[cell, '']]))
    t.equal(read?.replaceAll("'", ''), cell)
  }
})

t.test('values are written as spreadsheets read them', async (t) => {
  const date = new Date(manualClock().now())
  const text = await textOf([
    ['a,b', 'say "hi"'],
    ['two\r\nlines', '规则'],
    [1.5, true],
    [date, false],
    [null, undefined],
  ])
  t.equal(
    text,
    '\ufeff"a","b"\r\n"a,b","say ""hi"""\r\n"two\r\nlines","规则"\r\n1.5,true\r\n2026-01-01T00:00:00.000Z,false\r\n,\r\n',
  )
  t.equal(await textOf([]), '\ufeff"a","b"\r\n', 'no rows: a line of titles')
})

t.test('rows are read while the text is consumed, and their error is passed on', async (t) => {
  let produced = 0
  async function* rows() {
    for (;;) {
      produced += 1
      if (produced % 97 === 0) await turn()
      yield [`row ${produced}`]
    }
  }
  let read = 0
  let most = 0
  for await (const part of csvText([{ title: 'a', value: ([cell]: string[]) => cell }], rows())) {
    most = Math.max(most, produced - read)
    read += part.split('\r\n').length - 1
    if (read > 20_000) break
  }
  t.ok(most <= 500, `at most ${most} rows were waiting`)
  t.ok(produced < read + 500, 'and no more were asked for than were read')

  async function* failing() {
    yield ['a']
    throw new Error('the source dried up')
  }
  const columns = [{ title: 'a', value: ([cell]: string[]) => cell }]
  await rejectsWith(
    t,
    async () => {
      for await (const _ of csvText(columns, failing()));
    },
    { message: 'the source dried up' },
  )
})
