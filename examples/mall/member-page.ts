import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserPage, htmlText, pageNonce, routesWith, sendPage, sendPageAsset } from '@plinth/http'
import type { Site } from '@plinth/site'

const directory = join(import.meta.dirname, 'web')
const contentTypes = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const
/** Files of the page. Requested names are looked up here and never joined to a path. */
const assets = {
  'assets/points.css': 'css',
  'assets/points.js': 'js',
  'assets/shop.js': 'js',
  'assets/calendar.js': 'js',
  'assets/texts.js': 'js',
} as const satisfies Readonly<Record<string, keyof typeof contentTypes>>

/** Returns the page on which members see their points. The page needs no build. Its files are read once. */
export function memberPage(site: Pick<Site, 'title' | 'timeZone'>): BrowserPage {
  const html = readFileSync(join(directory, 'points.html'), 'utf8')
  const files = new Map(
    Object.entries(assets).map(([path, kind]) => {
      const body = readFileSync(join(directory, path))
      return [path, { body, contentType: contentTypes[kind], immutable: false }]
    }),
  )
  return {
    html({ locale }) {
      const values: Readonly<Record<string, string>> = { locale, siteTitle: site.title, timeZone: site.timeZone }
      return html.replace(/\{\{(\w+)\}\}/g, (_, name: string) => htmlText(values[name] ?? ''))
    },
    asset: (path) => files.get(path),
  }
}

interface PageDependencies {
  readonly page: BrowserPage
}

const { rawRoute } = routesWith<PageDependencies>()
const get = { method: 'GET', access: 'public', hidden: true, produces: ['text/html; charset=utf-8'] } as const

/** Routes of the points page for members. The page calls the API with the session of its user. */
export const pageRoutes = [
  rawRoute({
    ...get,
    path: '/mall/points',
    summary: 'Way to the points of a member',
    handler: (request, _, reply) =>
      reply.header('cache-control', 'no-store').redirect(`${request.contextPath}/mall/points/`, 302),
  }),
  rawRoute({
    ...get,
    path: '/mall/points/',
    summary: 'Points of a member',
    async handler({ locale }, { page }, reply) {
      return sendPage(reply, (await page.html({ nonce: pageNonce(reply), locale })) ?? '')
    },
  }),
  rawRoute({
    ...get,
    path: '/mall/points/*',
    summary: 'Files of the points of a member',
    handler: (request, { page }, reply) => sendPageAsset(request as never, page, reply),
  }),
]
