import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import createRouter, { type HTTPMethod } from 'find-my-way'
import Negotiator from 'negotiator'
import { envelopeType, failureText, noSniff, transportFailure } from '../envelope.ts'
import { htmlText } from '../pages/browser-page.ts'
import { METHODS } from '../server/door-server.ts'
import { englishText, type Translate } from '../texts.ts'

const style =
  ':root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif}main{max-width:30rem;margin:20vh auto 0;padding:0 1.5rem}h1{font-size:1.5rem}'

/** Content security policy that allows only the style of this page. */
const pagePolicy = [
  `default-src 'none'`,
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/**
 * Returns the page for an unknown path. It contains no data of the request.
 *
 * @param home path of the start page in the browser
 */
function notFoundPage(translate: Translate, locale: string, home: string): string {
  const text = (name: string) =>
    htmlText(translate(locale, `messages.http.${name}`, {}, englishText(`messages.http.${name}`)))
  const title = text('route-unknown')
  return `<!doctype html>
<html lang="${htmlText(locale)}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>404</title>
    <style>${style}</style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      <p><a href="${htmlText(home)}">${text('home')}</a></p>
    </main>
  </body>
</html>
`
}

interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Maximum length of an `Accept` header that is parsed. Browsers send shorter headers. */
const maxAcceptLength = 1024

/**
 * Responses to requests that match no route: 405 if the path has a route with another method, otherwise 404. Browsers
 * receive a page.
 */
export class UnmatchedResponses {
  /** Router for all methods. Fastify's own router looks up one method at a time and does not return patterns. */
  readonly #paths = createRouter()
  readonly #methods = new Set<HTTPMethod>()
  readonly #translate: Translate

  constructor(app: FastifyInstance, translate: Translate) {
    this.#translate = translate
    app.addHook('onRoute', ({ method, url }) => {
      for (const name of [method].flat()) this.#add(name, url)
    })
  }

  to(request: FastifyRequest): ApiResponse {
    const { locale } = request
    const [path = ''] = request.url.split('?', 1)
    const allowed = this.#methodsOf(path)
    if (allowed.length > 0 && !allowed.includes(request.method)) {
      const response = this.#envelope('methodNotAllowed', locale)
      return { ...response, headers: { ...response.headers, allow: allowed.join(', ') } }
    }
    if (path === '/api' || path.startsWith('/api/')) return this.#envelope('FST_ERR_NOT_FOUND', locale)
    const response = prefersPage(request) ? this.#page(request) : this.#envelope('FST_ERR_NOT_FOUND', locale)
    return { ...response, headers: { ...response.headers, vary: 'accept, accept-language' } }
  }

  #add(method: string, url: string): void {
    // A plugin may respond to `OPTIONS` on every path, so an `OPTIONS` route does not prove that a path exists.
    if (method === 'OPTIONS') return
    // A Fastify plugin may add a method that the router does not know, for example of WebDAV.
    if (!isMethod(method) || this.#paths.hasRoute(method, url)) return
    this.#methods.add(method)
    this.#paths.on(method, url, () => {})
  }

  #methodsOf(path: string): readonly string[] {
    return [...this.#methods].filter((method) => this.#paths.find(method, path) !== null).sort()
  }

  #envelope(problem: string, locale: string): ApiResponse {
    const { status, code, message, data } = transportFailure(problem, this.#translate, locale)
    const headers = {
      'content-type': envelopeType,
      'cache-control': 'no-store',
      [noSniff.name]: noSniff.value,
    }
    return { status, headers, body: failureText(code, message, data) }
  }

  #page({ locale, contextPath }: FastifyRequest): ApiResponse {
    const headers = {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': pagePolicy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      [noSniff.name]: noSniff.value,
    }
    return { status: 404, headers, body: notFoundPage(this.#translate, locale, `${contextPath}/`) }
  }
}

const isMethod = (name: string): name is HTTPMethod => METHODS.includes(name)

/** Returns true if the caller prefers HTML, as browsers do. Programs that accept any type receive the envelope. */
function prefersPage({ raw }: FastifyRequest): boolean {
  const { accept = '' } = raw.headers
  if (accept.length > maxAcceptLength || !accept.includes('text/html')) return false
  const [best] = new Negotiator(raw).mediaTypes(['application/json', 'text/html'])
  return best === 'text/html'
}
