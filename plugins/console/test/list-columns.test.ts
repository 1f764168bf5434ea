/** Tests the columns that a list shows, its saved address, and the address that exports it. */
import t from 'tap'
import type { ListPage } from '../web/admin/api/page-types.ts'
import { addressOfView, searchOfView } from '../web/admin/pages/list-state.ts'
import { loadBrowserModule } from './fixtures/browser-module.ts'

const { chosenColumns, columnsOf, differenceOf, exportOf } = await loadBrowserModule('pages/list-columns.ts')

const page = {
  id: 'shop.orders',
  columns: [
    { field: 'id', as: 'text', title: 'Id' },
    { field: 'sum', as: 'amount', title: 'Sum' },
    { field: 'ip', as: 'text', title: 'Address', hidden: true },
  ],
} as unknown as ListPage

t.test('a list shows its default columns with the changes of the user', async (t) => {
  t.strictSame(chosenColumns(page, {}), ['id', 'sum'])
  t.strictSame(chosenColumns(page, { columns: { ip: true, sum: false, gone: true } }), ['id', 'ip'])
  t.strictSame(differenceOf(page, new Set(['id', 'ip'])), { sum: false, ip: true })
  t.strictSame(differenceOf(page, new Set(['id', 'sum'])), {})
})

t.test('the address of a list names its columns only if they are not the default', async (t) => {
  t.equal(columnsOf(page, new Set(['sum', 'id'])), undefined)
  t.strictSame(columnsOf(page, new Set(['id', 'ip'])), ['id', 'ip'], 'as many as the default')
  t.strictSame(columnsOf(page, new Set(['id'])), ['id'])
  t.strictSame(columnsOf(page, new Set(['id', 'sum', 'ip'])), ['id', 'sum', 'ip'])
})

t.test('a saved view has the filters in a fixed order, without the position in the list', async (t) => {
  const params = new URLSearchParams('sort=-id&after=c1&after=c2&enabled=true')
  t.equal(searchOfView(params), 'enabled=true&sort=-id')
  t.equal(params.has('after'), true, 'the address of the page stays')
  t.equal(addressOfView({ page: 'shop.orders', search: 'q=a' }), '/shop.orders?q=a')
})

t.test('an exported list has the filters and columns of the page, and begins with its first row', async (t) => {
  const requested: unknown[] = []
  const api = { addressOf: (...call: unknown[]) => void requested.push(call) }
  const query = { state: 'open', from: '2026-01-01', size: 50, cursor: 'c', count: 'capped' }
  exportOf(api, page, query, page.columns.slice(1), 'zh-CN')
  t.strictSame(requested, [
    [
      { method: 'GET', path: '/api/v1/admin/console/pages/{id}/export' },
      {
        params: { id: 'shop.orders' },
        query: { filters: 'state=open&from=2026-01-01', columns: ['sum', 'ip'], locale: 'zh-CN' },
      },
    ],
  ])
})
