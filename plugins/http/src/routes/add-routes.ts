import helmet from '@fastify/helmet'
import { Type } from '@plinth/config-schema/typebox'
import { omitUndefined } from '@plinth/kernel'
import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import { provideRawBody } from '../caller/message-checks.ts'
import type { GuardHandler, HandlerWrapper, RouteWrapper } from '../contract.ts'
import { noSniff, successCode, successEnvelope, successSchema } from '../envelope.ts'
import { httpError } from '../errors.ts'
import { createReferenceRoutes, type ReferenceContent } from '../reference/routes.ts'
import type { RequestSchemas, RouteInfo } from './declaration.ts'
import { hooksFor, runGuardsInOrder } from './guards.ts'
import { checkedSuccessEnvelope } from './response-check.ts'
import { describeFastifyRoute, type RegisteredFastifyPlugin, type RouteRegistry } from './route-registry.ts'

export interface RouteChecks {
  readonly isResponseChecked: boolean
  /** Is called for query parameters that a read ignores, because it declares none. Undefined in production. */
  readonly onIgnoredQuery: ((route: RouteInfo, names: readonly string[]) => void) | undefined
}

export function addEnvelopeRoutes(
  app: FastifyInstance,
  registry: RouteRegistry,
  { isResponseChecked, onIgnoredQuery }: RouteChecks,
): void {
  for (const registered of registry.routes) {
    if (registered.kind !== 'envelope') continue
    const { request, response, maxBodyBytes } = registered.declaration
    const reported = ignoresQuery(registered.info, request) ? onIgnoredQuery : undefined
    const handler = wrapped(
      reported === undefined ? registered.handle : reportingQuery(registered, reported),
      registered.info,
      registry.wrappers,
    )
    addRoute(app, registered.info, {
      method: registered.info.method,
      url: registered.info.path,
      ...guardsOf(registered.info, registry),
      schema: {
        ...inputSchemas(registered.info, request),
        response: { [successCode]: successSchema(response) },
      },
      ...bodyLimitOf(app, maxBodyBytes),
      config: { successCode, plugin: registered.info.plugin },
      handler(request, reply) {
        reply.header(noSniff.name, noSniff.value)
        const result: unknown = handler(request, reply)
        if (isResponseChecked) {
          return Promise.resolve(result).then((data) =>
            checkedSuccessEnvelope(data, reply, { ...registered.info, schema: response }),
          )
        }
        return isThenable(result) ? new EnvelopeLater(result) : successEnvelope(result)
      },
    })
  }
}

/**
 * Creates the envelope when the result is available. Fastify calls `then` once. A chained promise would add a microtask
 * to each request.
 */
class EnvelopeLater {
  readonly #data: Promise<unknown>

  constructor(data: Promise<unknown>) {
    this.#data = data
  }

  // biome-ignore lint/suspicious/noThenProperty: Fastify calls `then`
  then(resolve: (envelope: unknown) => void, reject: (error: unknown) => void): void {
    this.#data.then((data) => resolve(successEnvelope(data)), reject)
  }
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown

function wrapped(handler: Handler, route: RouteInfo, wrappers: readonly RouteWrapper[]): Handler {
  const around: readonly HandlerWrapper[] = wrappers.flatMap((wrapper) => wrapper.forRoute(route) ?? [])
  return around.reduceRight(
    (inner, wrap) => (request, reply) => wrap(request, reply, async () => inner(request, reply)),
    handler,
  )
}

function addRawRoutes(app: FastifyInstance, registry: RouteRegistry): void {
  const innermost = registry.wrappers.filter(({ isInnermost }) => isInnermost)
  for (const registered of registry.routes) {
    if (registered.kind !== 'raw') continue
    const { request, plainSchemaProblems = false, maxBodyBytes } = registered.declaration
    addRoute(app, registered.info, {
      method: registered.info.method,
      url: registered.info.path,
      ...guardsOf(registered.info, registry),
      schema: inputSchemas(registered.info, request),
      ...bodyLimitOf(app, maxBodyBytes),
      config: { plainSchemaProblems, plugin: registered.info.plugin },
      handler: wrapped(registered.handle, registered.info, innermost),
    })
  }
}

/** Returns the limit of a route whose bodies can be larger than the limit of the application. */
const bodyLimitOf = ({ initialConfig }: FastifyInstance, maxBodyBytes = 0) =>
  maxBodyBytes > (initialConfig.bodyLimit ?? 0) ? { bodyLimit: maxBodyBytes } : {}

/**
 * Adds a route. It gets its own Fastify context only if its guards need the bytes of the body. Other routes then have
 * no extra cost.
 */
function addRoute(app: FastifyInstance, { isCompressed }: RouteInfo, declared: RouteOptions): void {
  const options: RouteOptions = isCompressed ? declared : { ...declared, compress: false }
  if ([options.preValidation ?? []].flat().length === 0) app.route(options)
  else app.register(async (signed) => void provideRawBody(signed).route(options))
}

function guardsOf(info: RouteInfo, { guards, tracer }: RouteRegistry) {
  const { onRequest, preValidation, preHandler } = hooksFor(info, guards, tracer)
  const hooks = (handlers: readonly GuardHandler[]) => (handlers.length > 0 ? [runGuardsInOrder(handlers)] : [])
  return { onRequest: hooks(onRequest), preValidation: hooks(preValidation), preHandler: hooks(preHandler) }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Guards of a route that a Fastify plugin has added. */
    guards?: ReturnType<typeof guardsOf>
  }
}

/**
 * Registers Fastify plugins for the whole application.
 *
 * @throws PlinthError `PLINTH_HTTP_ROUTE_REFUSED` if one of them adds a route, which no guard would protect
 */
export async function addExtensions(app: FastifyInstance, { extensions }: RouteRegistry): Promise<void> {
  let adding: string | undefined
  app.addHook('onRoute', ({ method, url }) => {
    // `@fastify/cors` adds an `OPTIONS` route for preflight requests. Its responses contain no data.
    if (adding === undefined || method === 'OPTIONS') return
    const fault = 'is part of a Fastify plugin without an access rule; pass that plugin to http.register()'
    throw httpError('PLINTH_HTTP_ROUTE_REFUSED', { method: String(method), path: url, plugin: adding, fault })
  })
  for (const { plugin, register, options } of extensions) {
    adding = plugin
    await app.register(register, options ?? {})
  }
  adding = undefined
}

/** Registers a Fastify plugin in its own context. Its routes are listed, and guards run before its own hooks. */
export async function addFastifyPlugin(
  app: FastifyInstance,
  registry: RouteRegistry,
  registered: RegisteredFastifyPlugin,
): Promise<void> {
  await app.register(async (own) => {
    const guard =
      (stage: 'onRequest' | 'preHandler'): onRequestHookHandler =>
      (request, reply, done) => {
        const [run] = request.routeOptions.config.guards?.[stage] ?? []
        if (run === undefined) done()
        else run.call(own, request, reply, done)
      }
    own.addHook('onRequest', guard('onRequest'))
    own.addHook('preHandler', guard('preHandler'))
    const guards = new Map<string, ReturnType<typeof guardsOf>>()
    own.addHook('onRoute', (route) => {
      // Fastify adds `HEAD` to each `GET`, with the same guards.
      const methods = [route.method].flat().filter((method) => method !== 'HEAD')
      const infos = methods.map((method) => describeFastifyRoute(registered, method, route.url))
      for (const info of infos) {
        registry.addForeignRoute(info)
        const earlier = guards.get(route.url)
        // The guards of a writing method check more, so they apply to all methods of the URL.
        if (earlier === undefined || info.method !== 'GET') guards.set(route.url, guardsOf(info, registry))
      }
      route.config = {
        ...route.config,
        plugin: registered.plugin,
        guards: guards.get(route.url) ?? guardsOf(describeFastifyRoute(registered, 'HEAD', route.url), registry),
      }
    })
    await own.register(registered.register as FastifyPluginAsync)
  })
}

const isRead = ({ method }: RouteInfo) => method === 'GET'

/** True for a read without declared query parameters. It ignores all query parameters. */
const ignoresQuery = (info: RouteInfo, { query }: RequestSchemas = {}) => isRead(info) && query === undefined

/** Query of a write that declares none: it rejects all parameters (decision G21). */
const emptyQuery = Type.Object({})

function inputSchemas(info: RouteInfo, { params, query, body }: RequestSchemas = {}): FastifySchema {
  return omitUndefined({
    params,
    querystring: query ?? (isRead(info) ? undefined : emptyQuery),
    body,
  })
}

/** Returns a handler that first reports the query parameters of a request. */
function reportingQuery(
  { info, handle }: { readonly info: RouteInfo; readonly handle: Handler },
  report: (route: RouteInfo, names: readonly string[]) => void,
): Handler {
  return (request, reply) => {
    const names = Object.keys(Object(request.query)).filter((name) => name !== 'version')
    if (names.length > 0) report(info, names)
    return handle(request, reply)
  }
}

const isThenable = (value: unknown): value is Promise<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

/**
 * Pages may load only files of the product and run no inline scripts. `upgrade-insecure-requests` is not set, because
 * the product may run on plain HTTP.
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

const transportSecurity = { name: 'strict-transport-security', value: 'max-age=31536000; includeSubDomains' } as const

/** Frames of other sites cannot use passkeys of this site (Permissions Policy, W3C; WebAuthn Level 3, 5.9). */
const permissionsPolicy = {
  name: 'permissions-policy',
  value: 'publickey-credentials-get=(self), publickey-credentials-create=(self)',
} as const

/**
 * Adds raw routes, Fastify plugins and the API reference. They are in a separate context, because their security
 * headers cost more time than a whole envelope route.
 */
export async function addPages(
  app: FastifyInstance,
  registry: RouteRegistry,
  description: ReferenceContent | undefined,
): Promise<void> {
  await app.register(async (pages) => {
    await pages.register(helmet, { contentSecurityPolicy, strictTransportSecurity: false })
    // Helmet would also send this header on plain HTTP, which RFC 6797, section 7.2, forbids.
    pages.addHook('onRequest', (request, reply, done) => {
      reply.header(permissionsPolicy.name, permissionsPolicy.value)
      if (request.isHttps) reply.header(transportSecurity.name, transportSecurity.value)
      done()
    })
    addRawRoutes(pages, registry)
    const own = description === undefined ? [] : [createReferenceRoutes(description)]
    for (const plugin of [...registry.fastifyPlugins, ...own]) await addFastifyPlugin(pages, registry, plugin)
  })
}
