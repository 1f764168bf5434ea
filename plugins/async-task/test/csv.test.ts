import { setImmediate as turn } from 'node:timers/promises'
import { type CsvValue, csvText } from '@plinth/async-task'
import { manualClock } from '@plinth/kernel/testing'
import fc from 'fast-check'
import t from 'tap'

async function textOf(rows: readonly (readonly CsvValue[])[], titles: readonly string[] = ['a', 'b']): Promise<string> {
  const columns = titles.map((title, index) => ({ title, value: (row: readonly CsvValue[]) => row[index] }))
  let text = ''
  for await (const part of csvText(columns, rows)) text += part
  return text
}

/** Cells of a CSV text by RFC 4180. */
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

t.test('N-156 a cell cannot be a formula', async (t) => {
  for (const bad of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '＝1', '＋1', '－1', '＠a', '=cmd|"/c calc"!A1']) {
    const [, [cell] = []] = parse(await textOf([[bad, '']]))
    t.equal(cell, `'${bad}`, JSON.stringify(bad))
  }
  const [titles] = parse(await textOf([], ['=1', 'plain']))
  t.same(titles, [`'=1`, 'plain'], 'neither can a title')
  const [, numbers] = parse(await textOf([[-5, -5n]]))
  t.same(numbers, ['-5', '-5'], 'numbers are numbers')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string()), { maxLength: 5 }), async (rows) => {
      const cells = parse(await textOf(rows)).slice(1)
      return (
        cells.length === rows.length &&
        cells.flat().every((cell, index) => {
          const given = rows.flat()[index]
          return /^[=+\-@\t\r＝＋－＠]/.test(given ?? '') ? cell === `'${given}` : cell === given
        })
      )
    }),
  )
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
    '\ufeffa,b\r\n"a,b","say ""hi"""\r\n"two\r\nlines",规则\r\n1.5,true\r\n2026-01-01T00:00:00.000Z,false\r\n,\r\n',
  )
  t.equal(await textOf([]), '\ufeffa,b\r\n', 'no rows: a line of titles')
})

t.test('rows are taken as the text is read, and their failure is passed on', async (t) => {
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
  await t.rejects(
    async () => {
      for await (const _ of csvText(columns, failing()));
    },
    { message: 'the source dried up' },
  )
})
