/** Two pages over rows in memory, and the faults that the conformance kit must find. */
import type { DetailPageDeclaration, ListPageDeclaration } from '@plinth/admin'
import { type AdminPageHarness, adminPageCases, type PageServer } from '@plinth/dev/conformance/admin'
import type { BrokenImplementations } from '@plinth/dev/testing'

const title = (en: string, zh = '文字') => ({ en, 'zh-CN': zh })
const rows = [
  { id: 1, name: 'North', state: 'open' },
  { id: 2, name: 'South', state: 'closed' },
  { id: 3, name: 'West', state: 'open' },
]
type Row = Readonly<Record<string, unknown>>

interface Request {
  readonly operation: string
  readonly id: string
  readonly query: URLSearchParams
  readonly caller: string | undefined
}
type Reply = readonly [code: string, data?: unknown]

interface Fault {
  readonly list?: Partial<ListPageDeclaration>
  readonly detail?: Partial<DetailPageDeclaration>
  /** Returns the faulty response instead of the correct one. If it is undefined, all responses are correct. */
  readonly reply?: (request: Request, correct: Reply) => Reply
}
type PageFault = () => Fault

const routes: PageServer['routes'] = [
  { operationId: 'getShops', method: 'GET', path: '/api/v1/admin/shops' },
  { operationId: 'getShopsById', method: 'GET', path: '/api/v1/admin/shops/:id' },
  { operationId: 'postShops', method: 'POST', path: '/api/v1/admin/shops' },
  { operationId: 'deleteShopsById', method: 'DELETE', path: '/api/v1/admin/shops/:id' },
]

function correctReply({ operation, id, query, caller }: Request): Reply {
  if (caller === undefined) return ['401']
  if (caller !== 'administrator') return ['403']
  if (operation === 'getShops') {
    const found = rows.filter(({ name }) => name.includes(query.get('query') ?? ''))
    const sort = query.get('sort') ?? 'name'
    const sorted = found.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    return ['200', { items: sort.startsWith('-') ? sorted.reverse() : sorted }]
  }
  const row = rows.find((one) => String(one.id) === id)
  return row === undefined ? ['404'] : ['200', row]
}

export const createPageCases = (fault: PageFault = () => ({})) =>
  adminPageCases((): AdminPageHarness => {
    const { list, detail, reply = (_, correct) => correct } = fault()
    const listPage: ListPageDeclaration = {
      id: 'shops',
      kind: 'list',
      title: title('Shops'),
      lead: title('All shops.'),
      source: 'getShops',
      key: 'id',
      search: 'query',
      sort: 'name',
      detail: 'shops.shop',
      columns: [
        { field: 'name', as: 'text' },
        { field: 'state', as: 'status' },
      ],
      create: { title: title('Add'), operation: 'postShops', fields: ['name'] } as never,
      ...list,
    } as ListPageDeclaration
    const detailPage: DetailPageDeclaration = {
      id: 'shops.shop',
      kind: 'detail',
      title: title('Shop'),
      source: 'getShopsById',
      param: 'id',
      name: 'name',
      sections: [{ columns: [{ field: 'state', as: 'status' }] }],
      actions: [
        {
          title: title('Delete'),
          operation: 'deleteShopsById',
          params: { id: { field: 'id' } },
          confirm: title('Delete {{name}}?'),
        } as never,
      ],
      ...detail,
    } as DetailPageDeclaration
    return {
      pages: new Map([listPage, detailPage].map((page) => [page.id, page])),
      administrator: { authorization: 'administrator' },
      stranger: { authorization: 'stranger' },
      server: {
        routes,
        async inject({ method, url, headers }) {
          const { pathname, searchParams } = new URL(url, 'http://localhost')
          const [, , , , , id = ''] = pathname.split('/')
          const isOne = id !== ''
          const operation =
            routes.find((route) => route.method === method && route.path.includes(':') === isOne)?.operationId ?? ''
          const request = { operation, id, query: searchParams, caller: headers['authorization'] }
          const [code, data] = reply(request, correctReply(request))
          return { statusCode: Number(code), body: JSON.stringify({ code, data }) }
        },
      },
    }
  })

/** Changes the rows of the list. */
const withRows =
  (change: (items: readonly Row[], request: Request) => unknown): PageFault =>
  () => ({
    reply: (request, [code, data]) =>
      request.operation === 'getShops' && code === '200'
        ? [code, { items: change((data as { items: Row[] }).items, request) }]
        : [code, data],
  })
const replying =
  (operation: string, change: (request: Request, correct: Reply) => Reply): PageFault =>
  () => ({ reply: (request, correct) => (request.operation === operation ? change(request, correct) : correct) })

export const faultyPages: BrokenImplementations<PageFault> = {
  refused: {
    'texts are in both languages': {
      'has no title in Chinese': () => ({ list: { title: title('Shops', '') } }),
      'has a lead in English only': () => ({ list: { lead: { en: 'All shops.' } as never } }),
      'has a section without an English title': () => ({
        detail: { sections: [{ title: title(' '), columns: [] }] },
      }),
    },
    'lists show rows with values': {
      'shows a member that is not in the rows': () => ({ list: { columns: [{ field: 'owner.name', as: 'text' }] } }),
      'returns one object': withRows((items) => items[0]),
      fails: replying('getShops', () => ['500']),
      'shows only the first row': withRows((items) => items.slice(0, 1)),
    },
    'the key identifies a row': {
      'has the state as key': () => ({ list: { key: 'state' } }),
      'has a key that is missing': () => ({ list: { key: 'code' } }),
      'returns a row twice': withRows((items) => [...items, ...items.slice(0, 1)]),
    },
    'a row opens its own page': {
      'opens no row': replying('getShopsById', ({ caller }, correct) =>
        caller === 'administrator' ? ['404'] : correct,
      ),
      'opens the first row for each id': replying('getShopsById', ({ caller }, correct) =>
        caller === 'administrator' ? ['200', rows[0]] : correct,
      ),
      'fails for an unknown id': replying('getShopsById', (_, correct) => (correct[0] === '404' ? ['500'] : correct)),
      'has no name': () => ({ detail: { name: 'label' } }),
    },
    'search, filters and order change the list': {
      'ignores the search': withRows(() => rows),
      'ignores the order': withRows((items) => items.toSorted((a, b) => Number(a['id']) - Number(b['id']))),
      'finds one row for each search': withRows((items) => (items.length === 0 ? rows.slice(0, 1) : items)),
    },
    'only callers with the permission see and change it': {
      'shows the list to everybody': replying('getShops', () => ['200', { items: rows }]),
      'lets users without roles create': replying('postShops', ({ caller }, correct) =>
        caller === 'stranger' ? ['200'] : correct,
      ),
      'deletes before it checks who calls': replying('deleteShopsById', () => ['404']),
    },
    'a deletion asks first': {
      'deletes at once': () => ({
        detail: {
          actions: [{ title: title('Delete'), operation: 'deleteShopsById', params: { id: { field: 'id' } } } as never],
        },
      }),
      'deletes a row of the list at once': () => ({
        list: {
          actions: [{ title: title('Delete'), operation: 'deleteShopsById', params: { id: { field: 'id' } } } as never],
        },
      }),
      'deletes many rows at once': () => ({
        list: { bulk: [{ title: title('Delete'), operation: 'deleteShopsById', ids: 'ids' } as never] },
      }),
    },
  },
  survivors: {},
}
