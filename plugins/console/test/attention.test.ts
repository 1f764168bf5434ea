/** Tests the numbers that need attention: their order, and that their links open the counted rows. */
import type { AttentionDeclaration, ListPageDeclaration } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import type { Principal } from '@plinth/iam'
import t from 'tap'
import type { Operation } from '../src/admin/operations.ts'
import { findAttentionProblems } from '../src/admin/overview.ts'
import { PageRegistry } from '../src/admin/page-registry.ts'

const title = { en: 'Shops', 'zh-CN': '商店' }
const state: Schema = { type: 'string' }
const getShops: Operation = {
  id: 'getShops',
  method: 'GET',
  path: '/shops',
  access: 'user',
  params: {},
  query: { state, size: { type: 'integer' }, count: state, from: state, to: state },
  takesReason: false,
  body: undefined,
  data: {
    type: 'array',
    items: { type: 'object', properties: { lastRun: { type: 'object', properties: { state } } } },
  },
  helps: new Map(),
}
const page: ListPageDeclaration = {
  kind: 'list',
  id: 'shops',
  title,
  source: 'getShops',
  key: 'id',
  columns: [],
  filters: [{ name: 'state' }],
}
const problemsOf = (one: Partial<AttentionDeclaration>) =>
  findAttentionProblems(
    [{ id: 'shops.lost', title, tone: 'bad', source: 'getShops', ...one }],
    new Map([['getShops', getShops]]),
    new Map([['shops', page]]),
  )

t.test('a link from a count filters the list by what the count is filtered by', async (t) => {
  const query = { state: 'lost', size: 1, count: 'capped' }
  const missing = [
    'attention "shops.lost": it counts rows with "state" lost, but its link to "shops" does not filter by it',
  ]
  t.strictSame(problemsOf({ query, page: { id: 'shops' } }), missing)
  t.strictSame(problemsOf({ query, page: { id: 'shops', filter: { state: 'open' } } }), missing)
  t.strictSame(problemsOf({ query, page: { id: 'shops', filter: { state: 'lost' } } }), [])
  t.strictSame(problemsOf({ where: { 'lastRun.state': 'lost' }, page: { id: 'shops' } }), missing)
  t.strictSame(problemsOf({ where: { 'lastRun.state': 'lost' }, page: { id: 'shops', filter: { state: 'lost' } } }), [])
  t.strictSame(problemsOf({ page: { id: 'shops', filter: { from: '24h' } } }), [], 'a time range is a filter')
})

t.test('conditions about money come first, then the most severe ones', async (t) => {
  const pages = [
    { ...page, id: 'settings', place: { group: 'configuration', order: 1 } },
    { ...page, id: 'refunds', place: { group: 'orders', order: 1 } },
  ] as const
  const attention = [
    { id: 'nowhere', tone: 'warn', page: undefined },
    { id: 'settings.unsafe', tone: 'warn', page: { id: 'settings' } },
    { id: 'settings.invalid', tone: 'bad', page: { id: 'settings' } },
    { id: 'refunds.open', tone: 'warn', page: { id: 'refunds' } },
    { id: 'refunds.failed', tone: 'bad', page: { id: 'refunds' } },
  ] as const
  const registry = new PageRegistry({
    http: {
      openapi: async () => ({ paths: { '/shops': { get: { operationId: 'getShops', responses: {} } } } }) as never,
      routes: [{ operationId: 'getShops', access: 'user' }] as never,
    },
    plugins: [],
    pages: new Map(pages.map((one) => [one.id, one])),
    attention: new Map(
      attention.map(({ page, ...one }) => [one.id, { ...one, title, source: 'getShops', ...(page && { page }) }]),
    ),
    charts: new Map(),
    tiles: new Map(),
    timelines: new Map(),
    audited: new Map(),
    labels: new Map(),
    signInWays: new Map(),
    hasMetric: () => true,
  })
  const found = await registry.attention({ can: () => true, dataScope: 'all' } as unknown as Principal, 'en')
  t.strictSame(
    found.map(({ id }) => id),
    ['refunds.failed', 'refunds.open', 'settings.invalid', 'settings.unsafe', 'nowhere'],
  )
})
