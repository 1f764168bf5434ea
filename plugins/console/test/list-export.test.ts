/** Tests the limits of an exported list. `test/back-office/list-export.proof.ts` exports the lists of a product. */

import { rejectsWith } from '@plinth/dev/testing'
import type { HttpRequest } from '@plinth/http'
import t from 'tap'
import { ListExport } from '../src/admin/list-export.ts'

const columns = [
  { field: 'id', as: 'count', title: 'ID' },
  { field: 'amount', as: 'amount', title: 'Amount', currency: 'currency' },
]
const row = { id: 1, amount: '1234', currency: 'EUR' }
const request = { headers: {}, peerIp: '127.0.0.1', principal: { userId: 1 } } as unknown as HttpRequest

/** Exports a list in which every page has a next page, until the page that fails. */
async function exported(failsAt = Number.POSITIVE_INFINITY) {
  let calls = 0
  const inject = async () => {
    calls += 1
    const answer =
      calls === failsAt
        ? { code: '503', data: null }
        : { code: '200', data: { items: Array(200).fill(row), next: 'n' } }
    return { statusCode: 200, body: '', json: () => answer }
  }
  const page = async () => ({ kind: 'list', path: '/api/v1/rows', isPaged: true, columns })
  const list = new ListExport({ http: { inject }, book: { page, labels: async () => [] } } as never)
  const text = await list.start(request, { page: 'a.rows', filters: '', columns: [], locale: 'en', units: {} })
  if ('status' in text) throw new Error(text.body)
  let content = ''
  for await (const part of text) content += part
  return { lines: content.trimEnd().split('\r\n'), calls }
}

t.test('a longer list ends after 100,000 rows with a line that reports it', async (t) => {
  const { lines, calls } = await exported()
  t.equal(calls, 500)
  t.equal(lines.length, 1 + 100_000 + 1)
  t.equal(lines[1], '1,"12.34 EUR"')
  t.equal(lines.at(-1), '"This file ends here. More rows match. Choose narrower filters."')
})

t.test('the file fails if a later page of the list cannot be read', async (t) => {
  await rejectsWith(t, exported(3), { message: 'the list responded with status 200 after 400 rows' })
})

/** Exports the rows that a list returns, and records the calls of the list and of the names. */
async function exportedRows(
  columns: readonly object[],
  answers: readonly object[],
  change: {
    readonly filters?: string
    readonly path?: string
    readonly isPaged?: boolean
    readonly only?: string[]
  } = {},
) {
  const { filters = '', path = '/api/v1/rows', isPaged = true, only = [] } = change
  const calls: { readonly url: string; readonly headers: object; readonly remoteAddress: string }[] = []
  const asked: (readonly string[])[] = []
  const inject = async (call: (typeof calls)[number]) => {
    calls.push(call)
    return { statusCode: 200, body: 'rejected', json: () => answers[calls.length - 1] }
  }
  const page = async () => ({ kind: 'list', path, isPaged, columns })
  const labels = async (kind: string, { ids }: { readonly ids: readonly string[] }) => {
    asked.push(ids)
    if (kind === 'secret') throw new Error('forbidden')
    return ids.filter((id) => id !== '9').map((id) => ({ id: Number(id), name: `name ${id}` }))
  }
  const units = { gold: { displayName: 'Gold', scale: 3, symbol: 'g' }, points: { displayName: 'Points', scale: 0 } }
  const list = new ListExport({ http: { inject }, book: { page, labels } } as never)
  const from = { ...request, headers: { 'accept-encoding': 'gzip', range: 'bytes=0-1', cookie: 'c' } }
  const text = await list.start(from, { page: 'a.rows', filters, columns: only, locale: 'en', units })
  if ('status' in text) return { rejected: text, calls, asked, lines: [] }
  let content = ''
  for await (const part of text) content += part
  return {
    lines: content
      .replace(/^\ufeff/, '')
      .trimEnd()
      .split('\r\n'),
    calls,
    asked,
  }
}
const whole = (...items: readonly object[]) => [{ code: '200', data: { items, next: null } }]

t.test('a cell of a file has the text that people read', async (t) => {
  for (const [column, row, text] of [
    [{ as: 'text' }, { a: null }, '""'],
    [{ as: 'text' }, { a: { b: 1 } }, '"{""b"":1}"'],
    [{ as: 'count' }, { a: 5 }, '5'],
    [{ as: 'text' }, { a: 5 }, '"5"'],
    [{ as: 'flag' }, { a: false }, 'false'],
    [{ as: 'status', labels: { on: 'Active' } }, { a: 'on' }, '"Active"'],
    [{ as: 'status', labels: { on: 'Active' } }, { a: 'toString' }, '"toString"'],
    [{ as: 'chips', labels: { x: 'First' } }, { a: ['x', 'y'] }, '"First; y"'],
    [{ as: 'chips', member: 'name' }, { a: [{ name: 'Ann' }, { name: 'Bob' }] }, '"Ann; Bob"'],
    [{ as: 'file' }, { a: { id: 'f', name: 'a.png' } }, '"a.png"'],
    [{ as: 'described' }, { a: { value: '7', name: 'Ann' } }, '"Ann"'],
    [{ as: 'described' }, { a: { value: ['p', 'q'], name: null } }, '"p; q"'],
    [{ as: 'reference', of: { labels: 'user' } }, { a: 7 }, '"name 7"'],
    [{ as: 'reference', of: { labels: 'user' } }, { a: [7, 9] }, '"name 7; 9"'],
    [{ as: 'reference', of: { labels: 'secret' } }, { a: 7 }, '"7"'],
    [{ as: 'amount', asset: 'gold' }, { a: '-1234' }, `"'-1.234 g"`],
    [{ as: 'amount', asset: 'points' }, { a: 7 }, '"7 Points"'],
    [{ as: 'amount', currency: 'b' }, { a: 5, b: 'eur' }, '"0.05 EUR"'],
    [{ as: 'amount', currency: 'b' }, { a: 500, b: 'jpy' }, '"500 JPY"'],
    [{ as: 'amount', currency: 'b' }, { a: 5, b: 'shells' }, '"5 shells"'],
    [{ as: 'amount', currency: 'b' }, { a: 5 }, '"5"'],
    [{ as: 'amount', currency: 'b' }, { a: 'much', b: 'eur' }, '"much eur"'],
    [{ as: 'amount', decimals: 'd', symbol: 's' }, { a: 1200000, d: 6, s: 'USDT' }, '"1.200000 USDT"'],
  ] as const) {
    const { lines } = await exportedRows([{ field: 'a', title: 'A', ...column }], whole(row))
    t.strictSame(lines, ['"A"', text], `${JSON.stringify(column)} ${JSON.stringify(row)}`)
  }
})

t.test('an export calls the list as the caller, with the filters of the page', async (t) => {
  const at = { field: 'at', as: 'time', title: 'At' }
  const { calls, lines } = await exportedRows([at, { ...at, field: 'to' }], whole({ at: 'x' }), {
    filters: 'shop=a%2Fb&state=open',
    path: '/api/v1/shops/{shop}/rows',
    only: ['at'],
  })
  t.strictSame(calls, [
    {
      method: 'GET',
      url: '/api/v1/shops/a%2Fb/rows?state=open&size=200',
      headers: { cookie: 'c' },
      remoteAddress: '127.0.0.1',
    },
  ])
  t.strictSame(lines, ['"At (UTC)"', '"x"'])
  const plain = await exportedRows([at], [{ code: '200', data: [{ at: 'y' }] }], { isPaged: false })
  t.strictSame(plain.lines, ['"At (UTC)"', '"y"'])
  t.equal(plain.calls[0]?.url, '/api/v1/rows?')
  const { rejected } = await exportedRows([at], [{ code: '400', data: null }])
  t.strictSame(rejected, { status: 200, body: 'rejected' })
})

t.test('a list with page numbers is read until all its rows are read, and each name once', async (t) => {
  const user = { field: 'user', as: 'reference', title: 'User', of: { labels: 'user' } }
  const pageOf = (page: number, ...users: number[]) => ({
    code: '200',
    data: { items: users.map((user) => ({ user })), page, total: 3 },
  })
  const { calls, lines, asked } = await exportedRows([user], [pageOf(1, 7, 8), pageOf(2, 7)])
  t.strictSame(lines, ['"User"', '"name 7"', '"name 8"', '"name 7"'])
  t.strictSame(
    calls.map(({ url }) => url),
    ['/api/v1/rows?size=200', '/api/v1/rows?size=200&page=2'],
  )
  t.strictSame(asked, [['7', '8']])
  const many = Array.from({ length: 201 }, (_, user) => ({ user }))
  t.strictSame(
    (await exportedRows([user], whole(...many))).asked.map(({ length }) => length),
    [200, 1],
  )
  const [first, last] = [
    { items: [{ user: 7 }], next: 'n' },
    { items: [], next: null },
  ]
  const walked = await exportedRows(
    [user],
    [first, last].map((data) => ({ code: '200', data })),
  )
  t.equal(walked.calls[1]?.url, '/api/v1/rows?size=200&cursor=n&count=none')
})
