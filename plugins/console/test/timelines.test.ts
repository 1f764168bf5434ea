/** Tests timelines: the pages on which they are, the problems that are reported, and the entries that a page shows. */
import type { PageDeclaration, TimelineDeclaration } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import t from 'tap'
import type { Operation } from '../src/admin/operations.ts'
import { findTimelineProblems } from '../src/admin/page-faults.ts'
import { placedTimelines } from '../src/admin/timelines.ts'
import type { Timeline } from '../web/admin/api/page-types.ts'
import { entriesOf, newestFirst, parametersOf } from '../web/admin/pages/timeline-entries.ts'

const text = (en: string) => ({ en, 'zh-CN': `${en} 中文` })
const member = (schema: Schema): Schema => ({ ...schema, 'x-title': text('Member') })
const object = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: 'object', properties })
const row = object({ id: member({ type: 'integer' }), at: member({ type: 'string', format: 'date-time' }) })
const read = (id: string, facts: Partial<Operation>): readonly [string, Operation] => [
  id,
  {
    id,
    method: 'GET',
    path: `/${id}`,
    access: 'user',
    params: {},
    query: {},
    takesReason: false,
    body: undefined,
    data: undefined,
    helps: new Map(),
    ...facts,
  },
]
const operations = new Map([
  read('getShop', { data: row }),
  read('getSales', { data: { type: 'array', items: row }, query: { shop: {}, kind: {} } }),
  read('getAudits', { data: { type: 'array', items: row }, params: { shop: {} } }),
])
const shop: PageDeclaration = {
  kind: 'detail',
  id: 'shop',
  title: text('Shop'),
  source: 'getShop',
  sections: [{ columns: [{ field: 'id', as: 'text' }] }],
}
const pages = new Map<string, PageDeclaration>([[shop.id, shop]])
const sales: TimelineDeclaration = {
  id: 'shop.sales',
  page: 'shop',
  source: 'getSales',
  filter: { shop: { field: 'id' } },
  at: 'at',
  columns: [{ field: 'id', as: 'count' }],
}
const problemsOf = (change: Partial<TimelineDeclaration>) =>
  findTimelineProblems(placedTimelines([{ ...sales, ...change }], new Map()), operations, pages, new Set()).map(
    (problem) => problem.replace('timeline "shop.sales": ', ''),
  )

t.test('a timeline of audited objects is on the page of each kind that has one', async (t) => {
  const { page: _, ...audited } = { ...sales, ofAudited: { kind: 'kind' } }
  const kinds = new Map([
    ['shop', { page: 'shop' }],
    ['clerk', { page: 'clerk' }],
    ['till', {}],
  ])
  const placed = placedTimelines([audited, sales], kinds)
  t.strictSame(
    placed.map(({ id, page, filter }) => [id, page, filter?.['kind']]),
    [
      ['shop.sales.shop', 'shop', { value: 'shop' }],
      ['shop.sales.clerk', 'clerk', { value: 'clerk' }],
      ['shop.sales', 'shop', undefined],
    ],
  )
})

t.test('each problem of a timeline is reported, and a page that is not loaded is none', async (t) => {
  const cases: readonly (readonly [Partial<TimelineDeclaration>, readonly string[]])[] = [
    [{}, []],
    [{ objectId: 'kind' }, []],
    [{ page: 'elsewhere', source: 'getNothing' }, []],
    [{ source: 'getNothing' }, ['no loaded plugin provides the operation "getNothing"']],
    [
      { source: 'getShop', filter: {} },
      ['getShop does not return a list', '"at" is not a time of the result', '"id" is not a member of the result'],
    ],
    [{ at: 'id' }, ['"id" is not a time of the result']],
    [{ filter: { town: { value: 1 } } }, ['"town" is not a parameter of getSales']],
    [{ filter: { shop: { field: 'town' } } }, ['"town" is not a member of the result']],
    [{ source: 'getAudits', filter: {} }, ['getAudits needs the path parameter "shop"']],
    [{ columns: [{ field: 'town', as: 'text' }] }, ['"town" is not a member of the result']],
  ]
  for (const [change, problems] of cases) t.strictSame(problemsOf(change), problems, JSON.stringify(change))
})

t.test('the entries of all sources are in one order, newest first, with links', async (t) => {
  const timeline = { id: 'b', at: 'at', columns: [], opens: { page: 'sale', field: 'id' } }
  const entries = newestFirst([
    ...entriesOf({ id: 'a', at: 'at', title: 'Opened', columns: [] }, [{ at: '2026-01-02T00:00:00Z' }, { at: null }]),
    ...entriesOf(timeline, [
      { id: 7, at: '2026-01-03T00:00:00Z' },
      { id: 'x/y', at: '2026-01-01T00:00:00Z' },
    ]),
  ])
  t.strictSame(
    entries.map(({ at, title, href }) => [at.slice(0, 10), title, href]),
    [
      ['2026-01-03', undefined, '/sale/7'],
      ['2026-01-02', 'Opened', undefined],
      ['2026-01-01', undefined, '/sale/x%2Fy'],
    ],
  )
})

t.test('parameters come from the object, from its address, and from the declaration', async (t) => {
  const timeline = {
    path: '/shops/{shop}/sales',
    filter: { shop: { field: 'owner.id' }, kind: { value: 'sale' } },
    objectId: 'target',
    size: 50,
  } as unknown as Timeline
  t.strictSame(parametersOf(timeline, { owner: { id: 7 } }, 'north'), {
    params: { shop: 7 },
    query: { kind: 'sale', target: 'north', size: 50 },
  })
})
