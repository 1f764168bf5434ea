import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import createRouter, { type HTTPMethod } from 'find-my-way'
import Negotiator from 'negotiator'
import { envelopeType, failureText, noSniff, transportFailure } from '../envelope.ts'
import { htmlText } from '../pages/browser-page.ts'
import { METHODS } from '../server/door-server.ts'
import { ownText, type Say } from '../texts.ts'

const style =
  ':root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif}main{max-width:30rem;margin:20vh auto 0;padding:0 1.5rem}h1{font-size:1.5rem}'

/** The one style of the page and nothing else: no script, no picture, no form, no frame. */
const pagePolicy = [
  `default-src 'none'`,
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/**
 * The page for an address at which there is nothing. It shows nothing of the request.
 *
 * @param home path of the start page as a browser calls it; of characters that HTML leaves alone
 */
function notFoundPage(say: Say, locale: string, home: string): string {
  const text = (name: string) => htmlText(say(locale, `messages.http.${name}`, {}, ownText(`messages.http.${name}`)))
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

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A header beyond this is no browser's. */
const longestAccept = 1024

/** What a request gets that no route takes: 405 where another method has one, else 404, as a page for a browser. */
export class UnmatchedAnswers {
  /** Every path with its methods. Fastify's own router answers for one method at a time and shows no patterns. */
  readonly #paths = createRouter()
  readonly #methods = new Set<HTTPMethod>()
  readonly #say: Say

  constructor(app: FastifyInstance, say: Say) {
    this.#say = say
    app.addHook('onRoute', ({ method, url }) => {
      for (const name of [method].flat() as HTTPMethod[]) this.#add(name, url)
    })
  }

  to(request: FastifyRequest): Answer {
    const { locale } = request
    const [path = ''] = request.url.split('?', 1)
    const allowed = this.#methodsOf(path)
    if (allowed.length > 0 && !allowed.includes(request.method as HTTPMethod)) {
      const answer = this.#envelope('methodNotAllowed', locale)
      return { ...answer, headers: { ...answer.headers, allow: allowed.join(', ') } }
    }
    if (path === '/api' || path.startsWith('/api/')) return this.#envelope('FST_ERR_NOT_FOUND', locale)
    const answer = prefersPage(request) ? this.#page(request) : this.#envelope('FST_ERR_NOT_FOUND', locale)
    return { ...answer, headers: { ...answer.headers, vary: 'accept, accept-language' } }
  }

  #add(method: HTTPMethod, url: string): void {
    // What a plugin answers to OPTIONS everywhere says nothing about a path.
    if (method === 'OPTIONS' || this.#paths.hasRoute(method, url)) return
    // A method of WebDAV, say, that a plugin of others taught Fastify alone.
    if (!METHODS.includes(method)) return
    this.#methods.add(method)
    this.#paths.on(method, url, () => {})
  }

  #methodsOf(path: string): HTTPMethod[] {
    return [...this.#methods].filter((method) => this.#paths.find(method, path) !== null).sort()
  }

  #envelope(fault: string, locale: string): Answer {
    const { status, code, message, data } = transportFailure(fault, this.#say, locale)
    const headers = {
      'content-type': envelopeType,
      'cache-control': 'no-store',
      [noSniff.name]: noSniff.value,
    }
    return { status, headers, body: failureText(code, message, data) }
  }

  #page({ locale, contextPath }: FastifyRequest): Answer {
    const headers = {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': pagePolicy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      [noSniff.name]: noSniff.value,
    }
    return { status: 404, headers, body: notFoundPage(this.#say, locale, `${contextPath}/`) }
  }
}

/** Browsers name HTML before all else; programs that take anything get the envelope. */
function prefersPage({ raw }: FastifyRequest): boolean {
  const { accept = '' } = raw.headers
  if (accept.length > longestAccept || !accept.includes('text/html')) return false
  const [best] = new Negotiator(raw).mediaTypes(['application/json', 'text/html'])
  return best === 'text/html'
}
