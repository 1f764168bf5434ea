/** Tests that the back office offers only what the access guard allows: by permission and by data scope. */
import type {
  AttentionDeclaration,
  ChartDeclaration,
  LabelSource,
  ListPageDeclaration,
  TileDeclaration,
  TimelineDeclaration,
} from '@plinth/admin'
import { startForTest } from '@plinth/dev/testing'
import httpPlugin, { type HttpRequest, http, Type } from '@plinth/http'
import type { Principal } from '@plinth/iam'
import { definePlugin, defineProduct } from '@plinth/kernel'
import t from 'tap'
import { PageRegistry } from '../src/admin/page-registry.ts'

const title = { en: 'Shops', 'zh-CN': '商店' }
const permission = 'shop:view'

/** Operations of the product. Each signed-in user may call the first; the others require the data scope `all`. */
const operations = { open: 'getOpen', guarded: 'getGuarded' } as const
const shop = definePlugin({
  id: 'shop',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  permissions: [{ code: permission, displayName: 'View shops' }],
  setup({ services }) {
    const query = Type.Object({ keyword: Type.Optional(Type.String({ title: 'Keyword' })) })
    const response = Type.Array(Type.Object({ id: Type.Integer({ title: 'Id' }) }))
    const shared = { method: 'GET', summary: 'Shops', request: { query }, response, handler: () => [] } as const
    services.http.route({ ...shared, path: '/api/v1/shop/open', operationId: operations.open, access: 'user' })
    const guarded = { path: '/api/v1/admin/shop/guarded', operationId: operations.guarded } as const
    services.http.route({ ...shared, ...guarded, access: { permission, scope: 'all' } })
  },
})

const each = <Declared>(declare: (id: string, source: string) => Declared): Map<string, Declared> =>
  new Map(Object.entries(operations).map(([id, source]) => [id, declare(id, source)]))

const page = (id: string, source: string, labels: string): ListPageDeclaration => ({
  kind: 'list',
  id,
  title,
  source,
  key: 'id',
  place: { group: 'product', order: 1 },
  columns: [{ field: 'id', as: 'text' }],
  find: ['keyword'],
  filters: [{ name: 'keyword', options: { labels } }],
  links: Object.keys(operations).map((page) => ({ page, label: title })),
  actions: Object.values(operations).map((operation) => ({ operation, label: title, params: {} })),
})
const declarations = {
  // The list `named` is open, but the command palette finds its rows only by names that are guarded.
  pages: each((id, source) => page(id, source, 'open')).set('named', page('named', operations.open, 'guarded')),
  attention: each((id, source): AttentionDeclaration => ({ id, title, source, tone: 'warn' })),
  charts: each(
    (id, source): ChartDeclaration => ({
      kind: 'operation',
      id,
      title,
      source,
      order: 1,
      at: 'id',
      lines: [{ field: 'id' }],
    }),
  ),
  tiles: each((id, source): TileDeclaration => ({ id, title, source, order: 1, field: 'id' })),
  timelines: each((id, source): TimelineDeclaration => ({ id, page: 'open', source, at: 'at', columns: [] })),
  audited: new Map(),
  labels: each(
    (kind): LabelSource => ({
      ...(kind === 'open' ? { scope: 'none' } : { permission, scope: 'all' }),
      byIds: async (ids) => ids.map((id) => ({ id, name: `${kind} ${id}` })),
      search: async () =>
        Object.keys(operations).map((labels) => ({ id: 1, name: labels, owner: { labels, id: '7' } })),
    }),
  ),
  signInWays: new Map(),
  hasMetric: () => true,
  plugins: [],
}

const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id)

/** Returns the reason of a rejected call. */
const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    ({ reason }) => reason,
  )

/** Returns all that a user is offered, by the function of the registry that offers it. */
async function offeredTo(registry: PageRegistry, principal: Principal) {
  const request = { principal, locale: 'en' } as unknown as HttpRequest
  const view = await registry.page('open', principal, 'en')
  if (view.kind !== 'list') throw new Error('the page is a list')
  return {
    groups: (await registry.groups(principal, 'en')).flatMap(({ pages }) => ids(pages)),
    lookups: ids(await registry.lookups(principal, 'en')),
    charts: ids(await registry.charts(principal, 'en')),
    tiles: ids(await registry.tiles(principal, 'en')),
    timelines: ids(view.timelines),
    attention: ids(await registry.attention(principal, 'en')),
    callable: await registry.callable(Object.values(operations), principal),
    actions: view.actions.map(({ allowed }) => allowed),
    needed: view.actions.map(({ permission, dataScope }) => [permission, dataScope]),
    links: view.links.map(({ page }) => page),
    owners: (await registry.labels('open', {}, request)).map(({ name }) => name),
    page: await reasonOf(registry.page('guarded', principal, 'en')),
    labels: await reasonOf(registry.labels('guarded', {}, request)),
  }
}

t.test('the back office offers what the access guard allows, by permission and by data scope', async (t) => {
  const product = defineProduct({ name: 'shop', plugins: [httpPlugin, shop], config: { 'platform.http.port': 0 } })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const registry = new PageRegistry({ ...declarations, http: running.service(http) })
  const offered = (can: boolean, dataScope: Principal['dataScope']) =>
    offeredTo(registry, { can: () => can, dataScope } as unknown as Principal)
  const open = ['open']
  const needed = [
    [undefined, undefined],
    [permission, 'all'],
  ]
  const everything = [...open, 'guarded']
  t.same(await offered(true, 'all'), {
    groups: [...everything, 'named'],
    lookups: [...everything, 'named'],
    charts: everything,
    tiles: everything,
    timelines: everything,
    attention: everything,
    callable: Object.values(operations),
    actions: [true, true],
    needed,
    links: everything,
    owners: ['open 7 · open', 'guarded 7 · guarded'],
    page: 'done',
    labels: 'done',
  })
  const rejected = (reason: string) => ({
    groups: [...open, 'named'],
    lookups: open,
    charts: open,
    tiles: open,
    timelines: open,
    attention: open,
    callable: [operations.open],
    actions: [true, false],
    needed,
    links: open,
    owners: ['open 7 · open', 'guarded'],
    page: reason,
    labels: reason,
  })
  t.same(await offered(true, 'org'), rejected('iam.scope-all-required'))
  t.same(await offered(false, 'all'), rejected('console.permission-missing'))
})
