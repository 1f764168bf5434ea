import type { Plugin } from '@plinth/kernel'
import type { Site } from '@plinth/site'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import type { ClientIpRules } from './caller/client-ip.ts'
import type { HttpServer } from './contract.ts'
import type { ApiDocument } from './openapi/document.ts'
import { openapiDocument, withSiteDetails } from './openapi/openapi.ts'
import { addEnvelopeRoutes, addExtensions, addPages, type RouteChecks } from './routes/add-routes.ts'
import { type Route, routesWith } from './routes/declaration.ts'
import { DeferredSchemas } from './routes/deferred-schemas.ts'
import { guardsAndWrappersOf, runGuardsInOrder } from './routes/guards.ts'
import { RouteRegistry } from './routes/route-registry.ts'
import { createInputCompiler } from './schemas/input-validation.ts'
import { type AppSettings, createApp } from './server/app.ts'
import type { Listener } from './server/listener.ts'

interface ServiceSettings extends Omit<AppSettings, 'alwaysServed'>, RouteChecks {
  readonly product: { readonly name: string; readonly version: string }
  /** All plugins of the product. Their messages contain titles of fields. */
  readonly plugins: readonly Pick<Plugin, 'id' | 'title' | 'messages' | 'businessErrors'>[]
  readonly hasMetrics: boolean
  readonly clientIpRules: ClientIpRules
  readonly hasDocs: boolean
  readonly site: Pick<Site, 'title' | 'url'>
  readonly contextPath: string
}

interface HttpService {
  serverFor(plugin: string): HttpServer
  /** Returns the application with all routes. The first call builds it and ends registration. */
  app(): Promise<FastifyInstance>
  /** Returns an application with only probes and metrics, for a process without the role `web`. */
  probesApp(): Promise<FastifyInstance>
  /**
   * Compiles the schemas of all routes. Ends registration.
   *
   * @throws PlinthError `PLINTH_HTTP_SCHEMA_INVALID`
   */
  checkSchemas(): Promise<void>
  setListener(listener: Pick<Listener, 'url' | 'stopped'>): void
  close(): Promise<void>
}

const owner = 'http'

export function createHttpService(probes: readonly Route[], settings: ServiceSettings): HttpService {
  const built = new Map<RouteRegistry, Promise<FastifyInstance>>()
  const schemas = new DeferredSchemas(createInputCompiler())
  const alwaysServed = probes.map(({ declaration }) => declaration.path)
  let listener: Pick<Listener, 'url' | 'stopped'> | undefined

  const registryWithProbes = () => {
    const registry = new RouteRegistry(settings.tracer)
    for (const probe of probes) registry.add(owner, probe, undefined)
    return registry
  }
  const registry = registryWithProbes()
  let description: ApiDocument | undefined
  /** Creates the API description once. The reference, the back office and the commands share it. */
  const describe = () => {
    registry.close()
    description ??= openapiDocument(settings.product, registry, settings.plugins)
    return description
  }
  const build = async (from: RouteRegistry): Promise<FastifyInstance> => {
    from.close()
    const app = await createApp({ ...settings, alwaysServed }, schemas)
    await addExtensions(app, from)
    if (from.onEveryRequest.length > 0) app.addHook('onRequest', runGuardsInOrder(from.onEveryRequest))
    addEnvelopeRoutes(app, from, settings)
    await addPages(app, from, from === registry && settings.hasDocs ? { document: describe(), ...settings } : undefined)
    await app.ready()
    if (settings.isResponseChecked) schemas.compileAll()
    return app
  }
  const appOf = (from: RouteRegistry) => {
    const app = built.get(from) ?? build(from)
    built.set(from, app)
    return app
  }

  return {
    serverFor: (plugin) => ({
      addRoutes: (routes: readonly Route<unknown>[], parts?: unknown) => {
        for (const route of routes) registry.add(plugin, route, parts)
      },
      route: (declaration) => registry.add(plugin, routesWith().route(declaration), undefined),
      rawRoute: (declaration) => registry.add(plugin, routesWith().rawRoute(declaration), undefined),
      guard: (guard) => registry.addGuard(plugin, guard),
      wrap: (wrapper) => registry.addWrapper(plugin, wrapper),
      everyRequest: (handler) => registry.addOnEveryRequest(handler),
      register: (register, access, annotations = []) =>
        registry.addFastifyPlugin({ plugin, access, annotations, register }),
      extend: (register, options) =>
        registry.addExtension({ plugin, register: register as FastifyPluginAsync, options }),
      hasMetrics: settings.hasMetrics,
      clientIpRules: settings.clientIpRules,
      networkOf: settings.addresses.networkOf,
      get routes() {
        return registry.infos
      },
      stepsOf: (route) => guardsAndWrappersOf(route, registry),
      openapi: async () => withSiteDetails(describe(), settings.site, settings.contextPath),
      get url() {
        return listener?.url
      },
      stoppedListening: async () => listener?.stopped,
      inject: async (options) => (await appOf(registry)).inject(options),
    }),
    app: () => appOf(registry),
    probesApp: () => appOf(registryWithProbes()),
    async checkSchemas() {
      await appOf(registry)
      schemas.compileAll()
    },
    setListener(started) {
      listener = started
    },
    async close() {
      // A failed build leaves no application to close. The caller of `build` has received its error.
      for (const app of await Promise.allSettled(built.values())) {
        if (app.status === 'fulfilled') await app.value.close()
      }
    },
  }
}
