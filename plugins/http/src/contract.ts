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
    /** The header `X-Trace-Id` if it is valid, otherwise a new id (decision A27). */
    readonly traceId: string
    /**
     * Returns the value with the defaults of the schema, as for the body of a request. For rows of a request that are
     * checked one by one.
     *
     * @throws Error that `errorOf` describes, if the value violates the schema
     */
    readonly checkInput: <T = unknown>(schema: object, value: unknown) => T
    /** Returns how a response with this error describes it, in the language of the request. */
    readonly errorOf: (error: unknown) => {
      readonly code: string
      readonly message: string
      readonly data: Readonly<Record<string, unknown>> | null
    }
    /** Normalised IP address of the client (document 1 of the specification, "Declarative client identity"). */
    readonly clientIp: string
    /** Normalised IP address of the connected peer: the client itself or the last proxy. */
    readonly peerIp: string
    /** Language of the response, from the header `Accept-Language`. */
    readonly locale: string
    /** Path before the product's own paths, such as `/shop`, or empty. Redirects must start with it. */
    readonly contextPath: string
    /** True if the browser uses HTTPS, either to the product itself or to a trusted proxy. */
    readonly isHttps: boolean
    /** Host and port that the caller requested. A caller can send any value, so only compare it. */
    readonly calledHost: string
    /** Envelope code of a failed request; empty for a success. Final when the response has been sent. */
    failureCode: string
    /**
     * Bytes of the body; empty if there is none. Set on routes with a guard of the stage `signature`, from this guard
     * on.
     */
    rawBody: Buffer | undefined
  }
}

/** Handler of a guard. To stop the request, it throws a `BusinessError` or sends a reply. */
export type GuardHandler = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>

export interface RouteGuard {
  readonly name: string
  /**
   * Time at which the guard runs:
   *
   * - `gate`: first, before the caller is known.
   * - `access`: before the body is read. If no access guard applies to a route that is not public, the response is
   *   "401".
   * - `signature`: after parsing and before validation, with `request.rawBody`. A `signed` route needs such a guard.
   * - `quota`: after validation, so that invalid input uses no quota.
   */
  readonly stage: 'gate' | 'access' | 'signature' | 'quota'
  /**
   * Returns the handler for a route, or `undefined` if the guard does not apply to it. Called once per route before the
   * server listens.
   */
  forRoute(route: RouteInfo): GuardHandler | undefined
  /**
   * Returns the credentials for the API description. A `signature` guard requires them. An `access` guard accepts them
   * instead of a bearer token.
   */
  security?(route: RouteInfo): RouteSecurity | undefined
  /**
   * Reasons of the errors that the guard throws, for the API description. Default: all reasons that its plugin
   * declares.
   */
  readonly reasons?: readonly string[]
}

/** Runs around the handler of a route. Returns the payload of the response. */
export type HandlerWrapper = (
  request: FastifyRequest,
  reply: FastifyReply,
  handle: () => Promise<unknown>,
) => Promise<unknown>

/**
 * Runs around handlers: after guards and validation, before the envelope is created. Raw routes have only wrappers with
 * `isInnermost`.
 */
export interface RouteWrapper {
  readonly name: string
  /** If true, the wrapper runs inside all others, directly around the handler. */
  readonly isInnermost?: boolean
  /**
   * Returns the wrapper for a route, or `undefined` if it does not apply to it. Called once per route before the server
   * listens.
   */
  forRoute(route: RouteInfo): HandlerWrapper | undefined
  /** Returns the headers that the wrapper adds, for the API description. */
  headers?(route: RouteInfo): WrapperHeaders | undefined
  /**
   * Reasons of the errors that the wrapper throws, for the API description. Default: all reasons that its plugin
   * declares.
   */
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
  /** OpenAPI security schemes by name. A caller must satisfy all of them. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>
  readonly scopes: readonly string[]
}

/** A guard or a wrapper that a request passes. */
export interface RouteGuardOrWrapper {
  readonly stage: RouteGuard['stage'] | 'wrapper'
  readonly name: string
}

/** The HTTP server for one plugin. Routes that the plugin adds are listed under its id. */
export interface HttpServer {
  /**
   * Adds routes and passes `parts` to their handlers. Call it only during setup.
   *
   * @throws PlinthError `PLINTH_HTTP_ROUTE_REFUSED` for a missing access rule, an invalid path, a duplicate method and
   *   path, and a duplicate operation id; `PLINTH_HTTP_SCOPE_MISSING` for a permission without a data scope
   */
  addRoutes(routes: readonly Route[]): void
  addRoutes<P>(routes: readonly Route<P>[], parts: NoInfer<P>): void
  /** Adds one route with an envelope whose handler needs no dependencies. Throws the errors of `addRoutes`. */
  route<const S extends RequestSchemas = Record<never, never>, R extends TSchema = TSchema>(
    declaration: RouteDeclaration<S, R>,
  ): void
  /** Adds one raw route whose handler needs no dependencies. Throws the errors of `addRoutes`. */
  rawRoute<const S extends RequestSchemas = Record<never, never>>(declaration: RawRouteDeclaration<S>): void
  /** Adds a guard for all routes, including routes that were added earlier. Call it only during setup. */
  guard(guard: RouteGuard): void
  /**
   * Adds a wrapper for all handlers, including handlers that were added earlier. The first wrapper is the outermost.
   * Call it only during setup.
   */
  wrap(wrapper: RouteWrapper): void
  /**
   * Calls the handler first for each request, including pages, WebSocket handshakes and requests without a route. A
   * slow handler delays all requests. Call it only during setup.
   */
  everyRequest(handler: GuardHandler): void
  /**
   * Registers a Fastify plugin with routes, for example for static files. The access rule and the annotations apply to
   * each of its routes. `routes` lists them as hidden. Call it only during setup.
   */
  register(
    plugin: FastifyPluginCallback | FastifyPluginAsync,
    access: Exclude<Access, 'signed'>,
    annotations?: readonly RouteAnnotation[],
  ): void
  /**
   * Registers a Fastify plugin without routes, for example for CORS or cookies. It applies to all routes if
   * `fastify-plugin` wraps it, as for most published plugins, otherwise only to its own context. A plugin with routes
   * needs `register`. Call it only during setup, before any route is added.
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
  /** Returns the guards and wrappers of a route in the order in which a request passes them. */
  stepsOf(route: RouteInfo): readonly RouteGuardOrWrapper[]
  /** Routes of all plugins. Routes of Fastify plugins are missing until the server is built. */
  readonly routes: readonly RouteInfo[]
  readonly hasMetrics: boolean
  /** Rules for `request.clientIp`. */
  readonly clientIpRules: ClientIpRules
  /**
   * Returns the string that identifies the caller: the address for IPv4, the network for IPv6. The key
   * `platform.rate-limit.annotation.client-ip.ipv6-prefix` sets the length of this network. Other text is returned
   * unchanged. For keys of counters, use `RateLimiter.addressKey`, which returns a hash of this string.
   */
  networkOf(address: string): string
  /** Returns the OpenAPI 3.1 document of all routes. After the first call, no plugin can add routes. */
  openapi(): Promise<ApiDocument>
  /** Base URL of the server; undefined while it does not listen. */
  readonly url: string | undefined
  /**
   * Resolves when the server accepts no more connections, or immediately if it does not listen. A plugin that ends long
   * connections while the product drains waits for it. Otherwise a proxy would connect their clients to this instance again.
   */
  stoppedListening(): Promise<void>
  /** Sends a request to the server without a network connection. After the first call, no plugin can add routes. */
  inject(options: InjectOptions | string): Promise<LightMyRequestResponse>
}

export const http = service<HttpServer>('http', { from: '@plinth/http' })

/**
 * Prometheus registry of the product. Label values must come from a small fixed set, never from keys, addresses or
 * names.
 */
export const metrics = service<Registry>('metrics', { from: '@plinth/http' })

export interface HealthOutcome {
  /** Name of the check, for example `database`. */
  readonly name: string
  /** Reason of the failure; `undefined` if the check passed. May contain secrets: mask it before it is shown. */
  readonly reason: string | undefined
  /** Problems that do not make the check fail, each with its fix. May contain secrets. */
  readonly warnings: readonly string[]
}

export interface Health {
  outcomes(): Promise<readonly HealthOutcome[]>
}

/** Runs the health checks of this process, like `/health/ready`. */
export const health = service<Health>('health', { from: '@plinth/http' })

/**
 * Envelope of each JSON response that is not raw (document 1 of the specification, "Response envelope and naming
 * rules").
 */
export interface Envelope<T> {
  readonly code: string
  readonly message: string
  readonly data: T
}

/** One page of a list in memory (decision B32). `page` starts at 1. */
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

/** Query of a list from a database table; see `listQuery`. */
export interface ListQuery extends PageQuery {
  readonly cursor?: string
  readonly count?: ListCount
  /** Start of the time range; see `rangeQuery`. */
  readonly from?: string
  readonly to?: string
  /** Conditions; see `filterQuery`. */
  readonly filter?: readonly string[]
}

/** How `total` is counted: all rows, at most 10,000 rows, or not at all. */
export type ListCount = 'exact' | 'capped' | 'none'

/** Sort order of a list. The first property has the highest precedence. */
export type ListOrder = readonly { readonly property: string; readonly direction: 'asc' | 'desc' }[]

/** Part of a list that a query reads. `findPage` of `@plinth/database` accepts it. */
export interface ListQueryWindow {
  readonly orderBy: ListOrder
  readonly size: number
  /** Number of rows to skip, at most 100,000; 0 if `after` is set. */
  readonly offset: number
  /** The page starts after this position. The value comes from the caller and is not verified. */
  readonly after?: readonly ListKey[] | undefined
  readonly count: ListCount
  readonly range?: ListTimeRange | undefined
  /** A row must meet all of them. */
  readonly conditions?: readonly ListCondition[]
}

/**
 * `in`: the value is one of `values`. `gte`, `lte`: the value is at least, or at most, the only one of `values`.
 * `empty`: there is no value, or there is one if `values` contains false.
 */
export type ListConditionOperator = 'in' | 'gte' | 'lte' | 'empty'

/** A condition for the rows of a list. */
export interface ListCondition {
  readonly property: string
  readonly operator: ListConditionOperator
  /** Times are milliseconds since the epoch. */
  readonly values: readonly (string | number | boolean)[]
}

/** Limits a list to rows of a time range. */
export interface ListTimeRange {
  readonly property: string
  /**
   * Property with an id of the row. The id must have been created within a day of the time in `property`. The query
   * then also restricts the ids, and needs no index on the time.
   */
  readonly id?: string | undefined
  /** Start in milliseconds since the epoch; this time is included. */
  readonly from?: number | undefined
  /** End in milliseconds since the epoch; this time is excluded. */
  readonly to?: number | undefined
}

/** Value of one sort property at a position in a list. */
export type ListKey = string | number | boolean | null

export interface ListRows<T> {
  readonly items: readonly T[]
  /** Number of rows in the list; `null` if they were not counted. */
  readonly total: number | null
  /** True if the list has more rows than `total`. */
  readonly isCapped: boolean
  /** Position of the last item; `null` on the last page. */
  readonly next: readonly ListKey[] | null
}

/** One page of a list from a database table (decision E14). */
export interface ListPage<T> {
  readonly items: readonly T[]
  readonly page: number
  readonly size: number
  readonly total: number | null
  readonly counted: ListCount
  readonly next: string | null
}
