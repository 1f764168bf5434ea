import { service } from '@plinth/kernel'
import type {
  FastifyPluginAsync,
  FastifyPluginCallback,
  FastifyPluginOptions,
  FastifyReply,
  FastifyRequest,
  InjectOptions,
  LightMyRequestResponse,
} from 'fastify'
import type { Registry } from 'prom-client'
import type { TSchema } from 'typebox'
import type { ClientIpRules } from './caller/client-ip.ts'
import type { ApiDocument, SecurityScheme } from './openapi/document.ts'
import type {
  Access,
  RawRouteDeclaration,
  RequestSchemas,
  Route,
  RouteAnnotation,
  RouteDeclaration,
  RouteInfo,
} from './routes/declaration.ts'

declare module '@plinth/admin' {
  interface LabelRequest extends FastifyRequest {}
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Trace id: the caller's `X-Trace-Id` if it is well formed, otherwise a generated one (decision A27). */
    readonly traceId: string
    /** Normalised client address (document 1, "Declarative client identity"). */
    readonly clientIp: string
    /** Normalised address at the other end of the connection: the client or the last proxy. */
    readonly peerIp: string
    /** Locale of the response, from `Accept-Language`. */
    readonly locale: string
    /** Path prefix of the product in the URLs that browsers use, for redirects: empty, or for example `/shop`. */
    readonly contextPath: string
    /** True if the caller uses HTTPS, to the product or to a trusted proxy. */
    readonly isHttps: boolean
    /**
     * Host and port that the caller used, as a trusted proxy reports them. A caller can send any value, so only compare
     * it.
     */
    readonly calledHost: string
    /** Envelope code of a failure; empty for a success. The value is final when the response has been sent. */
    failureCode: string
    /**
     * The body exactly as it was received; empty if there was no body. Only set on routes with a guard of the stage
     * `signature`, from that stage on.
     */
    rawBody: Buffer | undefined
  }
}

/** Stops a request by throwing a `BusinessError` or by sending a reply. */
export type GuardHandler = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>

export interface RouteGuard {
  readonly name: string
  /**
   * `gate` runs first, before the caller is known: access protection, address lists. `access` decides who may call,
   * before the body is read. A route that is not public responds with "401" unless an access guard applies to it.
   * `signature` runs after the body was parsed and before validation, with the bytes in `request.rawBody`. It opens
   * `signed` routes. `quota` runs after validation, so that invalid input does not use quota.
   */
  readonly stage: 'gate' | 'access' | 'signature' | 'quota'
  /** Called once per route before the server listens. `undefined` means that the guard does not apply to the route. */
  forRoute(route: RouteInfo): GuardHandler | undefined
  /**
   * For the API description: the credentials that this guard requires on a `signed` route. For a guard of the stage
   * `access`: the credentials that it accepts instead of a bearer token.
   */
  security?(route: RouteInfo): RouteSecurity | undefined
  /** For the API description: reasons of the guard. Default: all reasons that its plugin declares. */
  readonly reasons?: readonly string[]
}

/** Runs around the handler of a route. Returns the payload of the handler or another one. */
export type HandlerWrapper = (
  request: FastifyRequest,
  reply: FastifyReply,
  handle: () => Promise<unknown>,
) => Promise<unknown>

/**
 * Runs around handlers, after all guards and validation and inside the envelope. It receives the results and errors of
 * the handlers. Raw routes have no wrappers.
 */
export interface RouteWrapper {
  readonly name: string
  /**
   * Called once per route before the server listens. `undefined` means that the wrapper does not apply to the route.
   */
  forRoute(route: RouteInfo): HandlerWrapper | undefined
  /** For the API description: request and response headers that the wrapper adds. */
  headers?(route: RouteInfo): WrapperHeaders | undefined
  /** For the API description: reasons of the wrapper. Default: all reasons that its plugin declares. */
  readonly reasons?: readonly string[]
}

export interface WrapperHeaders {
  readonly request: Readonly<Record<string, HeaderDescription>>
  readonly response: Readonly<Record<string, HeaderDescription>>
}

export interface HeaderDescription {
  readonly description: string
  readonly schema: TSchema
}

export interface RouteSecurity {
  /** OpenAPI security schemes by name. A caller needs all of them. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>
  /** Permissions that the caller needs. */
  readonly scopes: readonly string[]
}

/** A guard or a wrapper. */
export interface RouteStep {
  readonly stage: RouteGuard['stage'] | 'wrapper'
  readonly name: string
}

/** The server as one plugin sees it. The routes that the plugin adds have its name. */
export interface HttpServer {
  /**
   * Adds the plugin's routes together with the dependencies of their handlers. Call it only during setup.
   *
   * @throws PlinthError `PLINTH_HTTP_ROUTE_REFUSED` for a missing access rule, an invalid path, a duplicate method
   *   and path, and a duplicate operation id; `PLINTH_HTTP_SCOPE_MISSING` for a permission without a data scope
   */
  addRoutes(routes: readonly Route[]): void
  addRoutes<P>(routes: readonly Route<P>[], parts: NoInfer<P>): void
  /** Adds one route whose handler needs only the request. Throws like `addRoutes`. */
  route<const S extends RequestSchemas = Record<never, never>, R extends TSchema = TSchema>(
    declaration: RouteDeclaration<S, R>,
  ): void
  /** Adds one raw route whose handler needs only the request. Throws like `addRoutes`. */
  rawRoute<const S extends RequestSchemas = Record<never, never>>(declaration: RawRouteDeclaration<S>): void
  /** Adds a guard for all routes, including those of earlier plugins. Call it only during setup. */
  guard(guard: RouteGuard): void
  /**
   * Adds a wrapper for all handlers, including those of earlier plugins. The first wrapper is the outermost. Call it
   * only during setup.
   */
  wrap(wrapper: RouteWrapper): void
  /**
   * Runs the handler first on each request, including requests without a route, requests for pages and WebSocket
   * handshakes. Call it only during setup. A slow handler delays all requests; a synchronous one costs little.
   */
  everyRequest(handler: GuardHandler): void
  /**
   * Registers a Fastify plugin, such as static files or WebSocket. Call it only during setup. The access rule protects
   * each of its routes. The routes appear in `routes` as hidden, with the annotations, such as a rate limit.
   */
  register(
    plugin: FastifyPluginCallback | FastifyPluginAsync,
    access: Exclude<Access, 'signed'>,
    annotations?: readonly RouteAnnotation[],
  ): void
  /**
   * Registers a Fastify plugin for the whole application, like `app.register(plugin, options)`: CORS, compression,
   * cookies, body parsers, tracing. A plugin that is wrapped by `fastify-plugin`, like most published ones, applies to
   * all routes. Another plugin only applies to its own context. Call it only during setup, before any route is added.
   * The plugin must not add routes: use `register` for that, which guards and lists them.
   *
   * @example
   * import cors from '@fastify/cors'
   * export default definePlugin({
   *   id: 'acme.cors', version: '1.0.0', kernel: '^1.0.0', requires: { http },
   *   setup: ({ services }) => services.http.extend(cors, { origin: 'https://shop.example' }),
   * })
   */
  extend<Options extends FastifyPluginOptions>(
    plugin: FastifyPluginCallback<Options> | FastifyPluginAsync<Options>,
    options?: Options,
  ): void
  /** Returns the steps that a request to a route passes before its handler, in order. */
  stepsOf(route: RouteInfo): readonly RouteStep[]
  /** Routes of all plugins. Includes the routes of Fastify plugins after the server was built. */
  readonly routes: readonly RouteInfo[]
  /** True if the product measures and serves metrics. */
  readonly hasMetrics: boolean
  /** Rules for `request.clientIp`. */
  readonly clientIpRules: ClientIpRules
  /**
   * Returns the string under which an address is counted: an IPv4 address itself, or the network of an IPv6 address
   * with the prefix length `platform.rate-limit.annotation.client-ip.ipv6-prefix`. Any other string is returned
   * unchanged. Keys of counters contain a hash of the string, see `RateLimiter.addressKey`.
   */
  networkOf(address: string): string
  /** Returns the OpenAPI 3.1 document of all routes. After this call, no plugin can register routes. */
  openapi(): Promise<ApiDocument>
  /** Base URL while the server listens. */
  readonly url: string | undefined
  /** Runs a request through the full stack without a socket. After this call, no plugin can register routes. */
  inject(options: InjectOptions | string): Promise<LightMyRequestResponse>
}

/** The product's HTTP server. */
export const http = service<HttpServer>('http', { from: '@plinth/http' })

/** The product's Prometheus registry. Label values must be bounded: no keys, addresses or names. */
export const metrics = service<Registry>('metrics', { from: '@plinth/http' })

/** Result of one health check. */
export interface HealthOutcome {
  /** Name of the contribution: `database`, `storage`, ... */
  readonly name: string
  /** Reason of the failure; `undefined` if the check passes. May contain secrets: mask it before it is shown. */
  readonly reason: string | undefined
  /** Problems that do not fail the check, each with its fix. May contain secrets. */
  readonly warnings: readonly string[]
}

/** The health checks of this process, as in `/health/ready`. */
export interface Health {
  outcomes(): Promise<readonly HealthOutcome[]>
}

/** The health checks of this process. */
export const health = service<Health>('health', { from: '@plinth/http' })

/** Envelope of each ordinary JSON response (document 1, "Response envelope and naming rules"). */
export interface Envelope<T> {
  readonly code: string
  readonly message: string
  readonly data: T
}

/** Page of a list (decision B32). `page` starts at 1. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly page: number
  readonly size: number
  readonly total: number
}

export interface PageQuery {
  readonly page: number
  readonly size: number
}

/** Query of a list from a table; see `listQuery`. */
export interface ListQuery extends PageQuery {
  readonly cursor?: string
  readonly count?: ListCount
  /** See `rangeQuery`. */
  readonly from?: string
  readonly to?: string
}

/** Kind of `total`: an exact count, a count of at most 10,000, or none. */
export type ListCount = 'exact' | 'capped' | 'none'

/** Order of a list: properties in order of precedence. */
export type ListOrder = readonly { readonly property: string; readonly direction: 'asc' | 'desc' }[]

/** Window of rows for a list query. `findPage` of `@plinth/database` accepts it. */
export interface ListWindow {
  readonly orderBy: ListOrder
  readonly size: number
  /** Rows to skip, at most 100,000. 0 with `after`. */
  readonly offset: number
  /** Position after which the page begins, from an earlier page. Unverified input of the caller. */
  readonly after?: readonly ListKey[] | undefined
  readonly count: ListCount
  /** Limits the list to rows of this period. */
  readonly range?: ListRange | undefined
}

/** Limits a list to the rows of a period. */
export interface ListRange {
  /** Property that contains the moment of a row. */
  readonly property: string
  /**
   * Property with the id that each row received within a day of this moment. The list is then limited by a range of
   * ids, which needs no additional index.
   */
  readonly id?: string | undefined
  /** Inclusive start, milliseconds since the epoch. */
  readonly from?: number | undefined
  /** Exclusive end, milliseconds since the epoch. */
  readonly to?: number | undefined
}

/** One value of a position in a list. */
export type ListKey = string | number | boolean | null

/** Rows that the source of a list returns. */
export interface ListRows<T> {
  readonly items: readonly T[]
  /** `null` if the rows were not counted. */
  readonly total: number | null
  /** True if there are more rows than `total`. */
  readonly isCapped: boolean
  /** Position of the last item; `null` if no item follows. */
  readonly next: readonly ListKey[] | null
}

/** Page of a list from a table (decision E14). */
export interface ListPage<T> {
  readonly items: readonly T[]
  readonly page: number
  readonly size: number
  readonly total: number | null
  readonly counted: ListCount
  readonly next: string | null
}
