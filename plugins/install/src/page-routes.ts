import { randomBytes } from 'node:crypto'
import type { HttpServer, Site } from '@plinth/http'
import type { InstallConfig } from './config.ts'
import { type InstallPage, installPath } from './contract.ts'
import type { HttpReply, HttpRequest } from './http-types.ts'
import { asHeader, ownPath } from './own-path.ts'
import { fallbackPage, rootPage } from './plain-page.ts'
import type { InstallState } from './state.ts'
import type { Status } from './status.ts'
import type { Say } from './texts.ts'

export interface PageRouteParts {
  readonly http: HttpServer
  readonly plugin: string
  readonly site: Site
  readonly config: InstallConfig
  readonly state: InstallState
  readonly status: Status
  readonly page: InstallPage | undefined
  readonly say: Say
}

const html = 'text/html; charset=utf-8'
const noStore = 'no-store'

/** What a page may load: what we serve, and what carries the nonce of this one answer. */
const policy = (nonce: string) =>
  [
    `default-src 'self'`,
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `object-src 'none'`,
    `base-uri 'self'`,
    `frame-ancestors 'none'`,
    `form-action 'self'`,
  ].join('; ')

/** The install page, the way to it, and the root path (document 3, "Access protection, root route and pages"). */
export function addPageRoutes({ http, plugin, site, config, state, status, page, say }: PageRouteParts): void {
  const route = (path: string, summary: string, handler: (request: HttpRequest, reply: HttpReply) => unknown) => {
    http.rawRoute(plugin, { method: 'GET', path, summary, access: 'public', hidden: true, produces: [html], handler })
  }
  const hasPage = config.get('platform.install.page.enabled')
  const notFound = (reply: HttpReply) => reply.header('cache-control', noStore).callNotFound()
  const redirect = (reply: HttpReply, target: string) =>
    reply.header('cache-control', noStore).redirect(asHeader(target), 302)
  const sendPage = (reply: HttpReply, body: string) =>
    reply.header('cache-control', noStore).header('vary', 'accept-language').type(html).send(body)

  /** Whether the page has nothing to do any more. What cannot be read counts as installed. */
  const isOver = async () => {
    const { name } = await state.read()
    return name !== 'not-installed' && !(name === 'installed' && config.get('platform.install.allow-reinstall'))
  }
  /** The product's entry; the install page must not lead to itself. */
  const productEntry = ({ contextPath }: HttpRequest) => {
    const target = status.productPath(contextPath)
    return /\/install\/?$/.test(target) ? `${contextPath}/` : target
  }
  /** For one answer, with the policy that names it. */
  const newNonce = (reply: HttpReply) => {
    const nonce = randomBytes(16).toString('base64')
    reply.header('content-security-policy', policy(nonce))
    return nonce
  }
  /** Without the page every way still ends at an answer that says how things stand. */
  const sendPageOff = async (request: HttpRequest, reply: HttpReply) => {
    const { locale } = request
    const isInstalled = (await state.read()).name !== 'not-installed'
    const context = { locale, nonce: newNonce(reply), say, siteTitle: site.isNamed ? site.title : '' }
    return sendPage(reply.code(503), fallbackPage(context, isInstalled ? 'page.lead' : 'page.off'))
  }
  /** @param base where relative addresses of the page start, when it is shown under another path */
  const sendInstallPage = async (request: HttpRequest, reply: HttpReply, base?: string) => {
    const nonce = newNonce(reply)
    const { locale } = request
    const siteTitle = site.isNamed ? site.title : ''
    const body = (await page?.html({ nonce, locale, siteTitle })) ?? fallbackPage({ locale, nonce, say, siteTitle })
    return sendPage(reply, base === undefined ? body : withBase(body, base))
  }

  route('/install', 'Way to the install page', async (request, reply) => {
    if (await isOver()) return redirect(reply, productEntry(request))
    return redirect(reply, `${request.contextPath}${installPath}${queryOf(request.url)}`)
  })
  route('/install/', 'Install page', async (request, reply) => {
    if (await isOver()) return redirect(reply, productEntry(request))
    return hasPage ? sendInstallPage(request, reply) : sendPageOff(request, reply)
  })
  if (hasPage) {
    route('/install/*', 'Files of the install page', async (request, reply) => {
      const path = String((request.params as Readonly<Record<string, string>>)['*'])
      const asset = await page?.asset(path, encodingsOf(request.headers['accept-encoding']))
      if (asset === undefined) return notFound(reply)
      if (asset.encoding !== undefined) reply.header('content-encoding', asset.encoding)
      return reply
        .header('cache-control', asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache')
        .header('vary', 'accept-encoding')
        .type(asset.contentType)
        .send(Buffer.from(asset.body))
    })
  }

  if (!config.get('platform.view.root.enabled')) return
  const mayTakeRoot =
    config.get('platform.install.enabled') &&
    config.get('platform.install.root-route.enabled') &&
    config.get('platform.install.mode') !== 'disabled'
  route('/', 'Entry of the product, or of its installation', async (request, reply) => {
    const { contextPath: prefix, locale } = request
    const isTaken = mayTakeRoot && (await state.read()).name === 'not-installed'
    const key = isTaken ? 'platform.install.root-route.target' : 'platform.view.root.target'
    const target = ownPath(config.get(key))
    if (target === '/') {
      const context = { locale, nonce: newNonce(reply), say, siteTitle: site.title }
      return sendPage(reply, rootPage(context, { prefix, isOpen: isTaken }))
    }
    if (!isTaken || config.get('platform.install.root-route.mode') === 'redirect') {
      return redirect(reply, prefix + target)
    }
    if (hasPage && target === installPath) return sendInstallPage(request, reply, prefix + target)
    return forward(request, reply, asHeader(target))
  })

  /** Answers with what stands at another path of this product, under the root path. */
  async function forward(request: HttpRequest, reply: HttpReply, target: string) {
    const { statusCode, headers, rawPayload } = await http.inject({
      method: 'GET',
      url: target,
      headers: request.headers as Record<string, string>,
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
}

const withBase = (page: string, base: string) =>
  page.replace(/<head[^>]*>/i, (head) => `${head}<base href="${encodeURI(base).replace(/"/g, '%22')}">`)

function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at)
}

/** Encodings of a header, best first; those that are refused are left out. */
function encodingsOf(header: string | string[] | undefined): string[] {
  const offers = String(header ?? '')
    .toLowerCase()
    .split(',')
    .map((offer) => {
      const [name = '', ...parameters] = offer.split(';').map((part) => part.trim())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      return { name, weight: weight === undefined ? 1 : Number(weight.slice(2)) }
    })
  return offers
    .filter(({ name, weight }) => name !== '' && weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ name }) => name)
}
