import { createHash } from 'node:crypto'
import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { Site } from '@plinth/site'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { envelopeType } from '../envelope.ts'
import type { ApiDocument } from '../openapi/document.ts'
import { ofSite } from '../openapi/openapi.ts'
import { addFastifyPlugin, addRawRoutes } from './add-routes.ts'
import type { BookedFastifyPlugin, RouteBook } from './route-book.ts'

/** A JSON document that hardly ever changes: written once, answered from one buffer, however many ask for it at a time. */
class FixedDocument {
  readonly #versionOf: () => string
  readonly #read: () => object
  #version: string | undefined
  #body = Buffer.alloc(0)
  #tag = ''

  /** @param versionOf another text whenever `read` answers another document */
  constructor(versionOf: () => string, read: () => object) {
    this.#versionOf = versionOf
    this.#read = read
  }

  /** Answers it, or 304 to whoever has it (RFC 9110, section 13.1.2). */
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
 * What a browser may load on a page of ours: what we serve ourselves, nothing inline that runs. No `upgrade-insecure-
 * requests`: the product also runs on plain HTTP behind a proxy or on one machine.
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

/** A year, with all subdomains. */
const transportSecurity = { name: 'strict-transport-security', value: 'max-age=31536000; includeSubDomains' } as const

/** The API description, and whose it is. */
interface Description {
  readonly document: ApiDocument
  readonly site: Pick<Site, 'title' | 'url'>
}

/**
 * Everything that is no envelope: raw routes, pages, the Fastify plugins of others and the API reference. They live in a
 * context of their own, because the security headers of pages cost more than a whole envelope route.
 */
export async function addPages(
  app: FastifyInstance,
  book: RouteBook,
  description: Description | undefined,
): Promise<void> {
  await app.register(async (pages) => {
    await pages.register(helmet, { contentSecurityPolicy, strictTransportSecurity: false })
    // Helmet would send it on plain HTTP too, which RFC 6797, section 7.2, forbids.
    pages.addHook('onRequest', (request, reply, done) => {
      if (request.isHttps) reply.header(transportSecurity.name, transportSecurity.value)
      done()
    })
    addRawRoutes(pages, book)
    const reference = description === undefined ? [] : [referenceOf(description)]
    for (const plugin of [...book.fastifyPlugins, ...reference]) await addFastifyPlugin(pages, book, plugin)
  })
}

/** A browsable reference whose assets we serve ourselves. */
const referenceOf = ({ document, site }: Description): BookedFastifyPlugin => ({
  plugin: 'http',
  access: 'public',
  annotations: [],
  async register(docs: FastifyInstance) {
    await docs.register(swagger, { mode: 'static', specification: { document: document as never } })
    await docs.register(swaggerUi, {
      routePrefix: docsPath,
      logo: null as never,
      theme: { title: 'API reference' },
      // Without the bar that loads descriptions from anywhere; groups are closed at first, because a product has hundreds of
      // operations, of which the page shows the first ten alone.
      uiConfig: { layout: 'BaseLayout', deepLinking: true, persistAuthorization: false, docExpansion: 'none' },
      // Its name and address may change while it runs.
      transformSpecification: () => ({ ...ofSite(document, site) }),
      transformSpecificationClone: false,
      // The reference writes style attributes.
      transformStaticCSP: (policy) => policy.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'"),
    })
    const described = new FixedDocument(
      () => `${site.title}\n${site.url}`,
      () => ofSite(document, site),
    )
    docs.get(`${docsPath}/openapi.json`, async (request, reply) => described.send(request, reply))
  },
})
