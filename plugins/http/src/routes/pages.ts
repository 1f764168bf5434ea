import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import { type Description, reference } from '../reference/routes.ts'
import { addFastifyPlugin, addRawRoutes } from './add-routes.ts'
import type { RouteRegistry } from './route-registry.ts'

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
    const own = description === undefined ? [] : [reference(description)]
    for (const plugin of [...book.fastifyPlugins, ...own]) await addFastifyPlugin(pages, book, plugin)
  })
}
