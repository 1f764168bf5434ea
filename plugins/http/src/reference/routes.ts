import { createHash } from 'node:crypto'
import type { Site } from '@plinth/site'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { envelopeType } from '../envelope.ts'
import type { ApiDocument } from '../openapi/document.ts'
import { withSiteDetails } from '../openapi/openapi.ts'
import { publishedApi } from '../openapi/published.ts'
import type { RegisteredFastifyPlugin } from '../routes/route-registry.ts'
import type { Translate } from '../texts.ts'
import { type PageTexts, pageTexts } from '../texts.ts'
import { referenceCss, referenceScript } from './assets.ts'
import { operationPage, schemaPage, startPage } from './pages-html.ts'

export interface ReferenceContent {
  readonly document: ApiDocument
  readonly site: Pick<Site, 'title' | 'url'>
  readonly contextPath: string
  readonly translate: Translate
  readonly localeOf: (acceptLanguage: string | undefined) => string
}

const docsPath = '/docs'

/** Creates the document again when the title or address of the site has changed. */
class PublishedDocument {
  readonly #description: ReferenceContent
  #version: string | undefined
  #document: ApiDocument | undefined

  constructor(description: ReferenceContent) {
    this.#description = description
  }

  get current(): ApiDocument {
    const { document, site, contextPath } = this.#description
    const version = `${site.title}\n${site.url}`
    if (this.#document === undefined || version !== this.#version) {
      this.#version = version
      this.#document = publishedApi(withSiteDetails(document, site, contextPath))
    }
    return this.#document
  }
}

/** Sends content with an `ETag`, or 304 if the caller has this content (RFC 9110, section 13.1.2). */
function sendTagged(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: FastifyReply,
  type: string,
  body: Buffer,
): FastifyReply {
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  reply.header('etag', tag).header('cache-control', 'no-cache')
  const known = headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, '')) ?? []
  if (known.includes(tag) || known.includes('*')) return reply.code(304).send()
  return reply.type(type).send(body)
}

interface PageRequest {
  readonly Params: Readonly<Record<string, string>>
  readonly Querystring: { readonly lang?: string | string[] }
}

/** Address that the caller used, for a site without a configured address. */
const calledAt = ({
  isHttps,
  calledHost,
  contextPath,
}: Pick<FastifyRequest, 'isHttps' | 'calledHost' | 'contextPath'>) =>
  `${isHttps ? 'https' : 'http'}://${calledHost}${contextPath}`

/** Returns the routes of the API reference: HTML pages and the OpenAPI document. */
export const createReferenceRoutes = (description: ReferenceContent): RegisteredFastifyPlugin => ({
  plugin: 'http',
  access: 'public',
  annotations: [],
  async register(docs: FastifyInstance) {
    const { site, translate, localeOf } = description
    const published = new PublishedDocument(description)
    const pages: Readonly<Record<string, (texts: PageTexts, name: string, server: string) => string | undefined>> = {
      '/': (texts) => startPage(published.current, texts),
      '/operations/:name': (texts, name, server) => operationPage(published.current, texts, name, server),
      '/schemas/:name': (texts, name) => schemaPage(published.current, texts, name),
    }
    for (const [path, html] of Object.entries(pages)) {
      docs.get<PageRequest>(`${docsPath}${path}`, async (request, reply) => {
        const { query, params, headers } = request
        const chosen = [query.lang ?? []].flat()[0]
        const texts = pageTexts(translate, localeOf(chosen ?? headers['accept-language']), chosen)
        const found = html(texts, params['name'] ?? '', site.url || calledAt(request))
        if (found === undefined) return reply.callNotFound()
        reply.header('vary', 'accept-language')
        return sendTagged(request, reply, 'text/html; charset=utf-8', Buffer.from(found))
      })
    }
    // The target is relative, because a proxy may serve the product under a path.
    docs.get(docsPath, async (_, reply) => reply.redirect('docs/'))
    const files = {
      'reference.css': ['text/css; charset=utf-8', Buffer.from(referenceCss)],
      'reference.js': ['text/javascript; charset=utf-8', Buffer.from(referenceScript)],
    } as const
    for (const [name, [type, body]] of Object.entries(files)) {
      docs.get(`${docsPath}/${name}`, async (request, reply) => sendTagged(request, reply, type, body))
    }
    // Callers load the document often, so it is serialized only once per version.
    const bytes = new WeakMap<ApiDocument, Buffer>()
    docs.get(`${docsPath}/openapi.json`, async (request, reply) => {
      const { current } = published
      const body = bytes.get(current) ?? Buffer.from(JSON.stringify(current))
      bytes.set(current, body)
      return sendTagged(request, reply, envelopeType, body)
    })
  },
})
