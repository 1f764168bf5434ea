/** Tests the limits of an exported list. `test/back-office/list-export.test.ts` exports the lists of a product. */
import type { HttpRequest } from '@plinth/http'
import { rejectsWith } from '@plinth/kernel/testing'
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
