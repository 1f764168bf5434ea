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
    /** Safe trace id: the caller's `X-Trace-Id` when well formed, else our own (decision A27). */
    readonly traceId: string
    /** Client address by the product's one resolver (document 1, "Declarative client identity"), normalised. */
    readonly clientIp: string
    /** Address at the other end of the connection, normalised: the client itself, or the last proxy before us. */
    readonly peerIp: string
    /** Locale of the answer, from `Accept-Language`. */
    readonly locale: string
    /** Path that a browser writes before the product's own, for redirects: empty, or `/shop`. */
    readonly contextPath: string
    /** Whether the caller speaks HTTPS, to us or to a trusted proxy. */
    readonly isHttps: boolean
    /** Host with port that the caller speaks to, as a trusted proxy tells it. Anybody may claim any: only compare it. */
    readonly calledHost: string
    /** Envelope code of a failure; empty for a success. Final when the answer has been sent. */
    failureCode: string
    /**
     * The body exactly as it was sent, before any decoding; empty without one. Kept on routes that a guard of the stage
     * `signature` takes, from that stage on.
     */
    rawBody: Buffer | undefined
  }
}

/** Stops a request by throwing a `BusinessError` or by sending a reply. */
export type GuardHandler = (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>

export interface RouteGuard {
  readonly name: string
  /**
   * `gate` runs first and knows no caller: access protection, address lists. `access` decides who may call, also before
   * the body is read: a route that is not public answers "401" as long as no access guard takes it. `signature` runs
   * after the body was parsed and before validation, with the bytes in `request.rawBody`; it opens `signed` routes.
   * `quota` runs after validation, so that bad input burns no quota.
   */
  readonly stage: 'gate' | 'access' | 'signature' | 'quota'
  /** Called once per route before the server listens; `undefined` leaves the route alone. */
  forRoute(route: RouteInfo): GuardHandler | undefined
  /**
   * For the API description: what a caller of a `signed` route sends so that this guard lets the request pass; of a guard of
   * the stage `access`, what goes in place of a bearer token.
   */
  security?(route: RouteInfo): RouteSecurity | undefined
}

/** Stands around the handler of a route. Answers the payload: that of the handler, or another one in its place. */
export type HandlerWrapper = (
  request: FastifyRequest,
  reply: FastifyReply,
  handle: () => Promise<unknown>,
) => Promise<unknown>

/**
 * What stands around handlers: it runs after all guards and validation, inside the envelope, and sees what the handler
 * answers or throws. Raw routes have none.
 */
export interface RouteWrapper {
  readonly name: string
  /** Called once per route before the server listens; `undefined` leaves the route alone. */
  forRoute(route: RouteInfo): HandlerWrapper | undefined
  /** For the API description: headers that callers may send because of it, and that answers may carry. */
  headers?(route: RouteInfo): WrapperHeaders | undefined
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
  /** Security scheme objects of OpenAPI by name; a caller needs all of them. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>
  /** What the caller must have been granted. */
  readonly scopes: readonly string[]
}

/** A guard, or what stands around the handler. */
export interface RouteStep {
  readonly stage: RouteGuard['stage'] | 'wrapper'
  readonly name: string
}

/** The server as one plugin sees it: what it adds carries that plugin's name. */
export interface HttpServer {
  /**
   * Adds the plugin's routes together with what their handlers work with. Only during set-up.
   *
   * @throws PlinthError `PLINTH_HTTP_ROUTE_REFUSED` for a missing access rule, a bad path, a taken method and path, and a
   *   taken operation id; `PLINTH_HTTP_SCOPE_MISSING` for a permission without a data scope
   */
  addRoutes(routes: readonly Route[]): void
  addRoutes<P>(routes: readonly Route<P>[], parts: NoInfer<P>): void
  /** Adds one route whose handler needs nothing but the request. Throws as `addRoutes`. */
  route<const S extends RequestSchemas = Record<never, never>, R extends TSchema = TSchema>(
    declaration: RouteDeclaration<S, R>,
  ): void
  /** Adds one raw route whose handler needs nothing but the request. Throws as `addRoutes`. */
  rawRoute<const S extends RequestSchemas = Record<never, never>>(declaration: RawRouteDeclaration<S>): void
  /** Adds a guard for all routes, those of earlier plugins included. Only during set-up. */
  guard(guard: RouteGuard): void
  /** Adds what stands around handlers, those of earlier plugins included; the first is the outermost. Only during set-up. */
  wrap(wrapper: RouteWrapper): void
  /**
   * Runs the handler before anything else on every request, also on those that no route takes, to pages and to WebSocket
   * handshakes. Only during set-up. A handler that answers at once costs little; a slow one slows down everything.
   */
  everyRequest(handler: GuardHandler): void
  /**
   * Registers a Fastify plugin: static files, WebSocket. Only during set-up. Every route that it brings is guarded as its
   * access says, and appears in `routes`, hidden, with the annotations, such as a rate limit.
   */
  register(
    plugin: FastifyPluginCallback | FastifyPluginAsync,
    access: Exclude<Access, 'signed'>,
    annotations?: readonly RouteAnnotation[],
  ): void
  /**
   * Registers a Fastify plugin with the whole application, as `app.register(plugin, options)` does: CORS, compression,
   * cookies, a parser of bodies, tracing. A plugin that is wrapped by `fastify-plugin`, as most published ones are, applies
   * to all routes; another one applies to its own context. Only during setup, before any route is added. It may not add
   * routes: `register` guards and lists them.
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
  /** What a request to a route passes on its way to the handler, in order. */
  stepsOf(route: RouteInfo): readonly RouteStep[]
  /** Routes of all plugins, those of registered Fastify plugins when the server has been built. */
  readonly routes: readonly RouteInfo[]
  /** Whether the product measures and serves metrics. */
  readonly hasMetrics: boolean
  /** How `request.clientIp` is found. */
  readonly clientIpRules: ClientIpRules
  /**
   * One text for all addresses of one caller, as counters by address need it: an IPv4 address, or the network of an IPv6
   * address, as wide as `platform.rate-limit.annotation.client-ip.ipv6-prefix` says. Keys hold its hash: ask
   * `RateLimiter.addressKey`. What is no address is answered as it is.
   */
  networkOf(address: string): string
  /** OpenAPI 3.1 document of all routes. Ends registration. */
  openapi(): Promise<ApiDocument>
  /** Base URL once it listens. */
  readonly url: string | undefined
  /** Runs a request through the full stack without a socket. Ends registration. */
  inject(options: InjectOptions | string): Promise<LightMyRequestResponse>
}

/** The product's HTTP server. */
export const http = service<HttpServer>('http', { from: '@plinth/http' })

/** The product's Prometheus registry. Tags must be bounded: never keys, addresses, names. */
export const metrics = service<Registry>('metrics', { from: '@plinth/http' })

/** What a health check said just now. */
export interface HealthOutcome {
  /** Under which it was contributed: `database`, `storage`, ... */
  readonly name: string
  /** Why it fails; `undefined` when it passes. May hold secrets: mask it before anybody sees it. */
  readonly reason: string | undefined
  /** Problems that do not make it fail, each with its fix. They may contain secrets too. */
  readonly warnings: readonly string[]
}

/** The health checks of this process, as `/health/ready` asks them. */
export interface Health {
  outcomes(): Promise<readonly HealthOutcome[]>
}

/** Whether this process can do its work, check by check. */
export const health = service<Health>('health', { from: '@plinth/http' })

/** Envelope of every ordinary JSON answer (document 1, "Response envelope and naming rules"). */
export interface Envelope<T> {
  readonly code: string
  readonly message: string
  readonly data: T
}

/** Page of a list (decision B32). `page` is 1-based. */
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

/** Query of a list from a table: see `listQuery`. */
export interface ListQuery extends PageQuery {
  readonly cursor?: string
  readonly count?: ListCount
}

/** How `total` came about: all were counted, at most 10,000, or none. */
export type ListCount = 'exact' | 'capped' | 'none'

/** Order of a list: properties in order of precedence. */
export type ListOrder = readonly { readonly property: string; readonly direction: 'asc' | 'desc' }[]

/** Which rows a query of a list asks for; `findPage` of `@plinth/database` takes it as it is. */
export interface ListWindow {
  readonly orderBy: ListOrder
  readonly size: number
  /** Rows to skip, at most 100,000. 0 with `after`. */
  readonly offset: number
  /** Position behind which the page begins, as the source of an earlier page answered it. Unproven: the caller's. */
  readonly after?: readonly ListKey[] | undefined
  readonly count: ListCount
}

/** A value that a position consists of. */
export type ListKey = string | number | boolean | null

/** What the source of a list answers. */
export interface ListRows<T> {
  readonly items: readonly T[]
  /** `null` when they were not counted. */
  readonly total: number | null
  /** True when there are more than `total`. */
  readonly isCapped: boolean
  /** Position of the last item; `null` when none follows. */
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
