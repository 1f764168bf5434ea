import { Readable } from 'node:stream'
import type { AmountUnit } from '@plinth/admin'
import type { Database } from '@plinth/database'
import {
  type BrowserPage,
  count,
  htmlText,
  id,
  line,
  pageNonce,
  type Route,
  rateLimited,
  routesWith,
  sendPage,
  sendPageAsset,
  Type,
} from '@plinth/http'
import { type Identity, requirePrincipal } from '@plinth/iam'
import { localize } from '@plinth/kernel'
import type { Site } from '@plinth/site'
import { framesOnly, framesPath } from './frames/frame-document.ts'
import type { HintStreams } from './hint-streams.ts'
import type { ListExport } from './list-export.ts'
import type { ListImport } from './list-import.ts'
import { type PageRegistry, word } from './page-registry.ts'
import { openableViews, sharedViewsOf } from './shared-views.ts'

interface AdminRouteDependencies {
  readonly units: ReadonlyMap<string, () => ReadonlyMap<string, AmountUnit>>
  readonly book: PageRegistry
  readonly exports: ListExport
  readonly imports: ListImport
  readonly db: Pick<Database, 'fork'>
  readonly identity: Pick<Identity, 'findRoles'>
  readonly streams: HintStreams
  readonly page: BrowserPage
  readonly site: Site
}

/** Returns the units of the amounts of all plugins, with names in the given language. */
const unitsIn = (sources: AdminRouteDependencies['units'], locale: string) =>
  Object.fromEntries(
    [...sources.values()].flatMap((bring) =>
      [...bring()].map(([code, { displayName, scale, symbol }]) => [
        code,
        { displayName: localize(displayName, locale), scale, ...(symbol === undefined ? {} : { symbol }) },
      ]),
    ),
  )

const adminPath = '/admin/'

const { route, rawRoute } = routesWith<AdminRouteDependencies>()

/** Maximum number of characters of an imported file, and maximum size of its request. */
const maxCsvLength = 1_000_000
const maxCsvBytes = 4_194_304

const apiRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/console/pages',
    operationId: 'getConsolePages',
    summary: 'List pages of the back office that the caller may see',
    access: 'user',
    response: Type.Object({
      siteName: Type.String(),
      siteTitle: Type.String(),
      timeZone: Type.String({ description: 'IANA time zone in which times are displayed.' }),
      units: Type.Record(
        Type.String(),
        Type.Object({
          displayName: Type.String(),
          scale: Type.Integer({ minimum: 0, maximum: 18 }),
          symbol: Type.Optional(Type.String({ description: 'ISO 4217 code if the unit is a currency.' })),
        }),
        { description: 'Units of amounts, by asset or currency.' },
      ),
      groups: Type.Array(
        Type.Object({
          id: Type.String(),
          title: Type.String(),
          icon: Type.Optional(Type.String({ description: 'Icon of a group that a plugin declares.' })),
          pages: Type.Array(
            Type.Object({
              id: Type.String(),
              title: Type.String(),
              kind: Type.Enum(['list', 'detail', 'frame', 'own']),
              details: Type.Array(Type.String(), { description: 'Ids of the detail pages that open from this page.' }),
              formerly: Type.Optional(
                Type.Array(Type.String(), { description: 'Ids of removed pages whose addresses open this page.' }),
              ),
              opens: Type.Optional(
                Type.Array(Type.String(), {
                  description: 'Parameters of the address of a custom page that receive the id of an object.',
                }),
              ),
            }),
          ),
        }),
      ),
    }),
    reasons: [],
    async handler(request, { book, site, units }) {
      const { locale } = request
      const groups = await book.groups(requirePrincipal(request), locale)
      const { name: siteName, title: siteTitle, timeZone } = site
      return {
        siteName,
        siteTitle,
        timeZone,
        units: unitsIn(units, locale),
        groups: groups.map((group) => ({
          ...group,
          pages: group.pages.map(({ formerly, ...page }) => ({
            ...page,
            details: [...page.details],
            ...(formerly === undefined ? {} : { formerly: [...formerly] }),
          })),
        })),
      }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/console/pages/:id',
    operationId: 'getConsolePage',
    summary: 'Get a page of the back office with the operations that it shows',
    access: 'user',
    request: { params: Type.Object({ id: word }) },
    response: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Returns the declaration of the page with paths, schemas, and texts in the language of the request.',
    }),
    reasons: ['console.labels-unknown', 'console.page-unknown', 'console.permission-missing'],
    async handler(request, { book, ...parts }) {
      const { params, locale } = request
      const principal = requirePrincipal(request)
      const page = await book.page(params.id, principal, locale)
      return page.kind === 'list' ? { ...page, shared: await sharedViewsOf(parts, page.id, principal, locale) } : page
    },
  }),
  rawRoute({
    method: 'GET',
    path: '/api/v1/admin/console/pages/:id/export',
    operationId: 'getConsolePageRows',
    summary: 'Export the rows of a list as a CSV file',
    description:
      'Calls the operation of the list as the caller, page by page, so its permission, data scope and limits apply. The file has at most 100,000 rows. A later error ends the download early. Cells that could begin a formula begin with an apostrophe.',
    access: 'user',
    annotations: [rateLimited({ maxAttempts: 10, windowSeconds: 60 })],
    produces: ['text/csv'],
    request: {
      params: Type.Object({ id: word }),
      query: Type.Object({
        filters: Type.String({
          maxLength: 4_000,
          default: '',
          description: 'Query string of the operation: its filters, time and order. It also contains path parameters.',
        }),
        columns: Type.Optional(
          Type.Array(line(100), {
            maxItems: 100,
            description: 'Members to export. If absent, all columns of the page.',
          }),
        ),
        locale: Type.Optional(line(35, { description: 'Language of titles and texts. Default: that of the request.' })),
      }),
    },
    reasons: ['console.page-unknown', 'console.permission-missing', '*'],
    async handler(request, { exports, units }, reply) {
      const { filters, columns = [], locale = request.locale } = request.query
      const { id } = request.params
      const wanted = { page: id, filters, columns, locale, units: unitsIn(units, locale) }
      const text = await exports.start(request, wanted)
      if ('status' in text) return reply.code(text.status).type('application/json; charset=utf-8').send(text.body)
      return reply
        .type('text/csv; charset=utf-8')
        .headers({ 'content-disposition': `attachment; filename="${id}.csv"` })
        .send(Readable.from(text))
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/admin/console/pages/:id/import',
    operationId: 'postConsolePageRows',
    summary: 'Create rows of a list from a CSV file, or only check them',
    description:
      'Reads the file and calls the operation that creates several rows as the caller, so its permission, data scope and limits apply. An idempotency key applies to that operation. Files of the export are accepted.',
    access: 'user',
    annotations: [rateLimited({ maxAttempts: 20, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })],
    maxBodyBytes: maxCsvBytes,
    request: {
      params: Type.Object({ id: word }),
      body: Type.Object({
        csv: Type.String({ maxLength: maxCsvLength, description: 'Text of the file, with a header.' }),
        mode: Type.Enum(['check', 'all', 'valid'], {
          description:
            '`check`: nothing is written. `all`: either all rows are written, or none. `valid`: all rows without a problem are written, or none.',
        }),
      }),
    },
    response: Type.Object({
      outcome: Type.Enum(['checked', 'imported', 'rejected'], { description: '`rejected`: nothing was written.' }),
      rows: count,
      valid: count,
      created: count,
      columns: Type.Array(
        Type.Object({
          header: Type.String(),
          title: Type.Union([Type.String(), Type.Null()], {
            description: 'Title of the field that receives the column; null for an ignored column.',
          }),
        }),
      ),
      problems: Type.Array(
        Type.Object({
          line: Type.Integer({ minimum: 0, description: 'Line in which the row begins, from 1.' }),
          title: Type.Union([Type.String(), Type.Null()], {
            description: 'Title of the affected column; null if the problem is about the whole row or file.',
          }),
          code: Type.String({ description: 'Stable code: a reason, or the violated rule of the schema.' }),
          message: Type.String({ description: 'Text for users, in the language of the request.' }),
        }),
      ),
    }),
    reasons: ['console.page-unknown', 'console.permission-missing', '*'],
    async handler(request, { imports, units }) {
      const { params, body, locale } = request
      const report = await imports.run(request as never, { page: params.id, ...body, units: unitsIn(units, locale) })
      return { ...report, columns: [...report.columns], problems: [...report.problems] }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/console/lookups',
    operationId: 'getConsoleLookups',
    summary: 'List the searchable lists that the caller may see, and the views that are shared with the caller',
    access: 'user',
    response: Type.Object({
      items: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description:
          'Returns each page with its operation, the parameters for the search text, and the displayed columns of a row.',
      }),
      views: Type.Array(
        Type.Object({
          id,
          name: Type.String(),
          page: Type.String({ description: 'Id of the page of the list.' }),
          search: Type.String({ description: 'Query of the page address.' }),
          role: Type.String({ description: 'Name of the role with which the view is shared.' }),
          isDefault: Type.Boolean({ description: 'True if the page opens with the view.' }),
        }),
      ),
    }),
    reasons: ['console.labels-unknown', 'console.page-unknown', 'console.permission-missing'],
    async handler(request, { book, ...parts }) {
      const [principal, { locale }] = [requirePrincipal(request), request]
      return {
        items: [...(await book.lookups(principal, locale))],
        views: await openableViews({ book, ...parts }, principal, locale),
      }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/console/labels',
    operationId: 'getConsoleLabels',
    summary: 'Find labels by ids or by a search text',
    access: 'user',
    request: {
      query: Type.Object({
        kind: word,
        ids: Type.Optional(
          Type.Array(Type.String({ maxLength: 200 }), { maxItems: 200, description: 'Ids whose labels are returned.' }),
        ),
        search: Type.Optional(Type.String({ maxLength: 100, description: 'Part of a name. Used only without ids.' })),
      }),
    },
    response: Type.Object({
      items: Type.Array(Type.Object({ id: Type.Union([Type.String(), Type.Integer()]), name: Type.String() })),
    }),
    reasons: ['console.labels-unknown', 'console.permission-missing'],
    async handler(request, { book }) {
      const { kind, ids, search } = request.query
      return { items: [...(await book.labels(kind, { ids, search }, request as never))] }
    },
  }),
  rawRoute({
    method: 'GET',
    path: '/api/v1/admin/console/events',
    operationId: 'getConsoleEvents',
    summary: 'Stream the operations whose results have changed',
    description:
      'Sends server-sent events, at most one per second. A message is `{"operations":[...]}`: ids of operations that the caller may call and whose results may have changed. The event `end` reports the end of the session.',
    access: 'user',
    produces: ['text/event-stream'],
    reasons: ['console.going', 'console.no-page', 'console.too-many-streams'],
    handler: async (request, { streams }, reply) =>
      reply
        .type('text/event-stream')
        .headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
        .send(await streams.open(requirePrincipal(request))),
  }),
]

const get = { method: 'GET', access: 'public', hidden: true, produces: ['text/html; charset=utf-8'] } as const

const pageRoutes = [
  rawRoute({
    ...get,
    path: '/admin',
    summary: 'Redirect to the back office',
    handler: (request, _, reply) =>
      reply.header('cache-control', 'no-store').redirect(`${request.contextPath}${adminPath}`, 302),
  }),
  rawRoute({
    ...get,
    path: `${framesPath}:id`,
    summary: 'Document of a page in a frame',
    request: { params: Type.Object({ id: word }) },
    handler({ params: { id } }, { book }, reply) {
      const document = book.frame(id)
      if (document === undefined) return reply.callNotFound()
      return reply.headers(document.headers).type('text/html; charset=utf-8').send(document.html)
    },
  }),
  rawRoute({
    ...get,
    path: '/admin/*',
    summary: 'Back office with its files',
    request: { params: Type.Object({ '*': Type.String() }) },
    async handler(request, { page, site, book }, reply) {
      if (request.params['*'].startsWith('assets/')) return sendPageAsset(request, page, reply)
      const { locale, contextPath } = request
      const nonce = pageNonce(reply)
      reply.header(
        'content-security-policy',
        `${reply.getHeader('content-security-policy')}, ${framesOnly(contextPath)}`,
      )
      const html = await page.html({ nonce, locale, siteTitle: site.isNamed ? site.title : '' })
      if (html === undefined) return reply.callNotFound()
      return sendPage(reply, withHead(html, { base: `${contextPath}${adminPath}`, ways: await book.signInWays() }))
    },
  }),
]

/**
 * Adds a base URL and the sign-in methods to the head of the page. The page is served for all paths below its root, so
 * the URLs of its files must be relative to the root. With the sign-in methods in the head, the page does not need to
 * request them.
 */
function withHead(html: string, { base, ways }: { readonly base: string; readonly ways: readonly object[] }): string {
  const reported = ways.length === 0 ? '' : `<meta name="sign-in-ways" content="${htmlText(JSON.stringify(ways))}">`
  return html.replace(
    /<head[^>]*>/i,
    (head) => `${head}<base href="${encodeURI(base).replace(/"/g, '%22')}">${reported}`,
  )
}

/** Routes of the back office pages and of the API that these pages use. */
export const adminRoutes: readonly Route<AdminRouteDependencies>[] = [...apiRoutes, ...pageRoutes]
