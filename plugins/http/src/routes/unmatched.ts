import type { FastifyInstance, FastifyRequest } from 'fastify'
import createRouter, { type HTTPMethod } from 'find-my-way'
import Negotiator from 'negotiator'
import { envelopeType, failureText, noSniff } from '../envelope.ts'
import { transportFailure } from '../failure.ts'
import { METHODS } from '../server/node-http.ts'
import type { Say } from '../texts.ts'
import { notFoundPage, pagePolicy } from './not-found-page.ts'

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
