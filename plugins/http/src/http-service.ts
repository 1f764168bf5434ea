import type { FastifyInstance } from 'fastify'
import { type AppSettings, createApp } from './app.ts'
import type { ClientIpRules } from './client-ip.ts'
import type { HttpServer, RawRouteDeclaration } from './contract.ts'
import { DeferredSchemas } from './deferred-schemas.ts'
import { runInTurn } from './guards.ts'
import { createInputCompiler } from './input-validation.ts'
import { ofSite, openapiDocument } from './openapi.ts'
import { addPages } from './pages.ts'
import { RouteBook } from './route-book.ts'
import { addEnvelopeRoutes } from './routes.ts'
import type { Site } from './site.ts'

export interface ServiceSettings extends Omit<AppSettings, 'alwaysServed'> {
  readonly product: { readonly name: string; readonly version: string }
  readonly hasMetrics: boolean
  readonly clientIpRules: ClientIpRules
  readonly isResponseChecked: boolean
  readonly hasDocs: boolean
  readonly site: Site
}

/** The service `http` and what its plugin needs to run it. */
export interface HttpService {
  readonly server: HttpServer
  /** The application with all routes; built when first asked for, which ends registration. */
  app(): Promise<FastifyInstance>
  /** An application with the probes alone. */
  probesApp(): Promise<FastifyInstance>
  /** Compiles the schemas of all routes. Ends registration. Throws `PLINTH_HTTP_SCHEMA_INVALID`. */
  checkSchemas(): Promise<void>
  /** Says where the base URL can be read. */
  listensAt(url: () => string | undefined): void
  /** Releases the applications that were built. */
  close(): Promise<void>
}

const owner = 'http'

export function createHttpService(probes: readonly RawRouteDeclaration[], settings: ServiceSettings): HttpService {
  const built = new Map<RouteBook, Promise<FastifyInstance>>()
  const schemas = new DeferredSchemas(createInputCompiler())
  const alwaysServed = new Set(probes.map(({ path }) => path))
  let url: () => string | undefined = () => undefined

  const bookWithProbes = () => {
    const book = new RouteBook()
    for (const probe of probes) book.addRawRoute(owner, probe)
    return book
  }
  const book = bookWithProbes()
  const describe = () => {
    book.close()
    return openapiDocument(settings.product, book)
  }
  const build = async (from: RouteBook): Promise<FastifyInstance> => {
    from.close()
    const app = createApp({ ...settings, alwaysServed }, schemas)
    if (from.onEveryRequest.length > 0) app.addHook('onRequest', runInTurn(from.onEveryRequest))
    addEnvelopeRoutes(app, from, settings.isResponseChecked)
    await addPages(
      app,
      from,
      from === book && settings.hasDocs ? { document: describe(), site: settings.site } : undefined,
    )
    await app.ready()
    if (settings.isResponseChecked) schemas.compileAll()
    return app
  }
  const appOf = (from: RouteBook) => {
    const app = built.get(from) ?? build(from)
    built.set(from, app)
    return app
  }

  return {
    server: {
      route: (plugin, declaration) => book.addRoute(plugin, declaration as never),
      rawRoute: (plugin, declaration) => book.addRawRoute(plugin, declaration),
      guard: (guard) => book.addGuard(guard),
      wrap: (wrapper) => book.addWrapper(wrapper),
      everyRequest: (handler) => book.addOnEveryRequest(handler),
      register: (plugin) => book.addFastifyPlugin(plugin),
      hasMetrics: settings.hasMetrics,
      clientIpRules: settings.clientIpRules,
      networkOf: settings.addresses.networkOf,
      get routes() {
        return book.routes.map(({ info }) => info)
      },
      openapi: async () => ofSite(describe(), settings.site),
      get url() {
        return url()
      },
      inject: async (options) => (await appOf(book)).inject(options),
    },
    app: () => appOf(book),
    probesApp: () => appOf(bookWithProbes()),
    async checkSchemas() {
      await appOf(book)
      schemas.compileAll()
    },
    listensAt(read) {
      url = read
    },
    async close() {
      // A build that failed has told its caller; there is nothing left of it to close.
      for (const app of await Promise.allSettled(built.values())) {
        if (app.status === 'fulfilled') await app.value.close()
      }
    },
  }
}
