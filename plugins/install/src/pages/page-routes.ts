import {
  type GuardHandler,
  type HttpReply,
  type HttpRequest,
  pageNonce,
  type Route,
  routesWith,
  sendPage,
  sendPageAsset,
} from '@plinth/http'
import type { InstallConfig } from '../config.ts'
import { installPath } from '../contract.ts'
import type { InstallServices } from '../requires.ts'
import { type InstallState, isInstalled } from '../state/install-state.ts'
import type { Translate } from '../texts.ts'
import type { InstallStatus } from '../wizard/install-status.ts'
import { fallbackPage, rootPage } from './plain-page.ts'
import { encodePathForHeader, type ProductPages, productPathOrRoot } from './product-pages.ts'

interface AccessProtectionDependencies {
  readonly state: Pick<InstallState, 'isKnownInstalled'>
  /** True if the root path redirects to the installer. */
  readonly takesRoot: boolean
  readonly translate: Translate
}

/** Paths that are available before the installation: the installer and the health checks. */
const passes = /^\/(?:install(?:\/|$)|api\/v1\/install(?:\/|$)|health\/)/
const pages = /^\/(?:admin|app|pc|docs)(?:\/|$)/

/**
 * Returns a guard for a product that is not installed. It redirects pages to the installer and rejects all other
 * requests (decision B61).
 */
export function redirectUntilInstalled({ state, takesRoot, translate }: AccessProtectionDependencies): GuardHandler {
  return (request, reply) => {
    if (state.isKnownInstalled) return
    const [path = '/'] = request.url.split('?', 1)
    if (passes.test(path) || (path === '/' && takesRoot)) return
    if (isPage(request, path)) {
      reply.header('cache-control', 'no-store').redirect(request.contextPath + installPath, 302)
      return
    }
    reject(request, reply, translate)
  }
}

function isPage({ method, headers }: HttpRequest, path: string): boolean {
  if ((method !== 'GET' && method !== 'HEAD') || path.startsWith('/api/') || headers.upgrade !== undefined) return false
  return pages.test(path) || path === '/' || (headers.accept ?? '').includes('text/html')
}

/** Rejects a request with HTTP status 503. All other JSON responses have status 200 (decision D1). */
function reject({ locale }: HttpRequest, reply: HttpReply, translate: Translate): void {
  const body = { code: '503', message: translate(locale, 'page.protected'), data: { reason: 'install.required' } }
  reply
    .code(503)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(body))
}

type PageRouteDependencies = Pick<InstallServices, 'http' | 'site' | 'config' | 'page'> & {
  readonly state: InstallState
  readonly status: InstallStatus
  readonly translate: Translate
  readonly productPages: ProductPages
}

const html = 'text/html; charset=utf-8'
const noStore = 'no-store'

const { rawRoute } = routesWith<PageRouteDependencies>()
const get = { method: 'GET', access: 'public', hidden: true, produces: [html] } as const

const hasPage = ({ config }: Pick<PageRouteDependencies, 'config'>) => config.get('platform.install.page.enabled')

const installRoutes = [
  rawRoute({
    ...get,
    path: '/install',
    summary: 'Redirect to the install page',
    async handler(request, parts, reply) {
      const way = `${request.contextPath}${installPath}${queryOf(request.url)}`
      return redirect(reply, (await isOver(parts)) ? productEntry(request, parts) : way)
    },
  }),
  rawRoute({
    ...get,
    path: '/install/',
    summary: 'Install page',
    async handler(request, parts, reply) {
      if (await isOver(parts)) return redirect(reply, productEntry(request, parts))
      return hasPage(parts) ? sendInstallPage(request, parts, reply) : sendPageOff(request, parts, reply)
    },
  }),
]

const assetRoutes = [
  rawRoute({
    ...get,
    path: '/install/*',
    summary: 'Files of the install page',
    handler: (request, { page }, reply) => sendPageAsset(request, page, reply),
  }),
]

const rootRoutes = [
  rawRoute({
    ...get,
    path: '/',
    summary: 'Start page of the product, or of the installer',
    async handler(request, parts, reply) {
      const { config, state, translate, site, productPages } = parts
      const { contextPath: prefix, locale } = request
      const isTaken = takesRoot(config) && !isInstalled(await state.read())
      const target = isTaken ? productPathOrRoot(config.get('platform.install.root-route.target')) : productPages.entry
      if (target === '/') {
        const context = { locale, nonce: pageNonce(reply), translate, siteTitle: site.title }
        return sendPage(reply, rootPage(context, { prefix, isOpen: isTaken }))
      }
      const isForwarded = isTaken && config.get('platform.install.root-route.mode') === 'forward'
      if (!isForwarded) return redirect(reply, prefix + target)
      if (hasPage(parts) && target === installPath) return sendInstallPage(request, parts, reply, prefix + target)
      return forward(request, parts, reply, encodePathForHeader(target))
    },
  }),
]

const takesRoot = (config: InstallConfig) =>
  config.get('platform.install.enabled') &&
  config.get('platform.install.root-route.enabled') &&
  config.get('platform.install.mode') !== 'disabled'

export const pageRoutes = (config: InstallConfig): readonly Route<PageRouteDependencies>[] => [
  ...installRoutes,
  ...(hasPage({ config }) ? assetRoutes : []),
  ...(config.get('platform.view.root.enabled') ? rootRoutes : []),
]

/** True if the installation page is no longer needed. An unknown state counts as installed. */
const isOver = async ({ state }: PageRouteDependencies) => state.closedBecause(await state.read()) !== undefined

/** Returns the path of the start page, but never the installation page. */
function productEntry({ contextPath }: Pick<HttpRequest, 'contextPath'>, { status }: PageRouteDependencies): string {
  const target = status.productPath(contextPath)
  return /\/install\/?$/.test(target) ? `${contextPath}/` : target
}

const redirect = (reply: HttpReply, target: string) =>
  reply.header('cache-control', noStore).redirect(encodePathForHeader(target), 302)

type Asked = Pick<HttpRequest, 'locale' | 'contextPath' | 'headers' | 'raw'>

const contextOf = ({ locale }: Asked, { translate, site }: PageRouteDependencies, reply: HttpReply) => {
  return { locale, nonce: pageNonce(reply), translate, siteTitle: site.isNamed ? site.title : '' }
}

/** Sends a page that describes the state, if the installation page is disabled. */
async function sendPageOff(request: Asked, parts: PageRouteDependencies, reply: HttpReply) {
  const lead = isInstalled(await parts.state.read()) ? 'page.lead' : 'page.off'
  return sendPage(reply.code(503), fallbackPage(contextOf(request, parts, reply), lead))
}

/** @param base base of relative URLs; required if the page is sent at another path */
async function sendInstallPage(request: Asked, parts: PageRouteDependencies, reply: HttpReply, base?: string) {
  const context = contextOf(request, parts, reply)
  const { nonce, locale, siteTitle } = context
  const body = (await parts.page?.html({ nonce, locale, siteTitle })) ?? fallbackPage(context)
  return sendPage(reply, base === undefined ? body : withBase(body, base))
}

/** Responds to the root path with the content of another path of this product. */
async function forward(request: Asked, { http }: PageRouteDependencies, reply: HttpReply, target: string) {
  const { statusCode, headers, rawPayload } = await http.inject({
    method: 'GET',
    url: target,
    headers: request.headers,
    remoteAddress: request.raw.socket.remoteAddress ?? '',
  })
  const isHtml = String(headers['content-type']).startsWith('text/html')
  const base = request.contextPath + target.slice(0, target.lastIndexOf('/') + 1)
  for (const name of ['content-type', 'content-security-policy', 'content-encoding', 'location'] as const) {
    const value = headers[name]
    if (value !== undefined) reply.header(name, value)
  }
  const isText = isHtml && headers['content-encoding'] === undefined
  const body = isText ? withBase(rawPayload.toString('utf8'), base) : rawPayload
  return reply.code(statusCode).header('cache-control', noStore).send(body)
}

const withBase = (page: string, base: string) =>
  page.replace(/<head[^>]*>/i, (head) => `${head}<base href="${encodeURI(base).replace(/"/g, '%22')}">`)

function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at)
}
