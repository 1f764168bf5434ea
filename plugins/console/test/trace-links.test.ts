/** Tests the links of trace ids to the tracing system. */
import t from 'tap'
import { columnViews, type PageViewer } from '../src/admin/column-and-field-views.ts'
import type { Column } from '../web/admin/api/page-types.ts'
import { addressElsewhere } from '../web/admin/api/row-values.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const template = 'https://tempo.example.com/trace/{{traceId}}?org=1'

const linksWith = (link: string | undefined) => {
  const reader: PageViewer = {
    locale: 'en',
    can: () => true,
    sees: () => true,
    page: () => undefined,
    created: () => undefined,
    hasLabels: () => false,
    traceLink: () => link,
  }
  const declared = [
    { field: 'traceId', as: 'text', trace: true },
    { field: 'name', as: 'text' },
  ] as const
  const columns = columnViews(declared, { item: undefined, helps: new Map() }, reader) as unknown as Column[]
  return (row: Record<string, string>) => columns.map((column) => addressElsewhere(column, row))
}

t.test('a trace id links to the tracing system if the operator configured an address', async (t) => {
  const row = { traceId, name: 'x' }
  t.strictSame(linksWith(template)(row), [`https://tempo.example.com/trace/${traceId}?org=1`, undefined])
  t.strictSame(linksWith(undefined)(row), [undefined, undefined])
})

t.test('an id that a caller chose cannot change the address, and an empty one has no link', async (t) => {
  const links = linksWith(template)
  const [link] = links({ traceId: '../../x?y=#z', name: '' })
  t.equal(link, 'https://tempo.example.com/trace/..%2F..%2Fx%3Fy%3D%23z?org=1')
  t.strictSame(links({ traceId: '', name: '' }), [undefined, undefined])
})
