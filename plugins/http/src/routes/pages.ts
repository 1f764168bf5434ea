import { createHash } from 'node:crypto'
import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { Site } from '@plinth/site'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { envelopeType } from '../envelope.ts'
import type { ApiDocument } from '../openapi/document.ts'
import { ofSite } from '../openapi/openapi.ts'
import { publishedApi } from '../openapi/published.ts'
import { addFastifyPlugin, addRawRoutes } from './add-routes.ts'
import type { RegisteredFastifyPlugin, RouteRegistry } from './route-registry.ts'

/** A JSON document that rarely changes. It is serialized once per version and sent from one buffer. */
class FixedDocument {
  readonly #versionOf: () => string
  readonly #read: () => object
  #version: string | undefined
  #body = Buffer.alloc(0)
  #tag = ''

  /** @param versionOf returns a different text if `read` returns a different document */
  constructor(versionOf: () => string, read: () => object) {
    this.#versionOf = versionOf
    this.#read = read
  }

  /** Sends the document, or 304 if the caller has it (RFC 9110, section 13.1.2). */
  send({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
    const version = this.#versionOf()
    if (version !== this.#version) {
      this.#version = version
      this.#body = Buffer.from(JSON.stringify(this.#read()))
      this.#tag = `"${createHash('sha256').update(this.#body).digest('base64url').slice(0, 22)}"`
    }
    reply.header('etag', this.#tag).header('cache-control', 'no-cache')
    const known = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
    if (known.includes(this.#tag) || known.includes('*')) return reply.code(304).send()
    return reply.type(envelopeType).send(this.#body)
  }
}

const docsPath = '/docs'

/**
 * Pages may only load files of the product, and no inline code runs. No `upgrade-insecure-requests`: the product also
 * runs on plain HTTP, behind a proxy or on one machine.
 */
const contentSecurityPolicy = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'self'"],
    baseUri: ["'self'"],
    fontSrc: ["'self'", 'data:'],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    imgSrc: ["'self'", 'data:', 'blob:'],
    objectSrc: ["'none'"],
    scriptSrc: ["'self'"],
    scriptSrcAttr: ["'none'"],
    styleSrc: ["'self'"],
  },
}

/** One year, with all subdomains. */
const transportSecurity = { name: 'strict-transport-security', value: 'max-age=31536000; includeSubDomains' } as const

interface Description {
  readonly document: ApiDocument
  readonly site: Pick<Site, 'title' | 'url'>
}

/**
 * Adds all routes without an envelope: raw routes, pages, Fastify plugins and the API reference. They have their own
 * context, because the security headers of pages cost more than a whole envelope route.
 */
export async function addPages(
  app: FastifyInstance,
  book: RouteRegistry,
  description: Description | undefined,
): Promise<void> {
  await app.register(async (pages) => {
    await pages.register(helmet, { contentSecurityPolicy, strictTransportSecurity: false })
    // Helmet would also send it on plain HTTP, which RFC 6797, section 7.2, forbids.
    pages.addHook('onRequest', (request, reply, done) => {
      if (request.isHttps) reply.header(transportSecurity.name, transportSecurity.value)
      done()
    })
    addRawRoutes(pages, book)
    const reference = description === undefined ? [] : [referenceOf(description)]
    for (const plugin of [...book.fastifyPlugins, ...reference]) await addFastifyPlugin(pages, book, plugin)
  })
}

/** An interactive API reference with its own assets. */
const referenceOf = ({ document, site }: Description): RegisteredFastifyPlugin => ({
  plugin: 'http',
  access: 'public',
  annotations: [],
  async register(docs: FastifyInstance) {
    await docs.register(swagger, { mode: 'static', specification: { document: document as never } })
    await docs.register(swaggerUi, {
      routePrefix: docsPath,
      logo: null as never,
      theme: { title: 'API reference' },
      // Without the bar that loads descriptions from any address. Groups are closed at first: a product has hundreds of
      // operations, and the page shows only the first ten.
      uiConfig: { layout: 'BaseLayout', deepLinking: true, persistAuthorization: false, docExpansion: 'none' },
      // The name and address of the site may change while the product runs.
      transformSpecification: () => ({ ...ofSite(document, site) }),
      transformSpecificationClone: false,
      // The reference writes style attributes.
      transformStaticCSP: (policy) => policy.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'"),
    })
    const described = new FixedDocument(
      () => `${site.title}\n${site.url}`,
      () => publishedApi(ofSite(document, site)),
    )
    docs.get(`${docsPath}/openapi.json`, async (request, reply) => described.send(request, reply))
  },
})
