import { service } from '@plinth/kernel'
import type {
  FastifyPluginAsync,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  InjectOptions,
  LightMyRequestResponse,
} from 'fastify'
import type { Registry } from 'prom-client'
import type { Static, TSchema } from 'typebox'
import type { ClientIpRules } from './client-ip.ts'

/**
 * Who may call a route. Every route says so; there is no default. `signed`: callers that prove themselves by a signature
 * over the request; closed unless a guard of the stage `signature` takes the route.
 */
export type Access = 'public' | 'user' | 'signed' | { readonly permission: string }

export interface RequestSchemas {
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
}

type Validated<S> = S extends TSchema ? Static<S> : undefined

/** A request as handlers see it: validated, with the product's own facts about it. */
export type RouteRequest<S extends RequestSchemas = RequestSchemas> = Omit<
  FastifyRequest,
  'params' | 'query' | 'body'
> & {
  readonly params: Validated<S['params']>
  readonly query: Validated<S['query']>
  readonly body: Validated<S['body']>
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

/** A typed note on a route that another plugin understands, for example a rate limit. Found by id. */
export interface RouteAnnotation<T = unknown> {
  readonly id: string
  readonly value: T
}

export interface RouteDeclaration<S extends RequestSchemas = RequestSchemas, R extends TSchema = TSchema> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** `/api/v{major}/{domain}/...` or `/api/v{major}/admin/{domain}/...`; Fastify syntax for parameters. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly access: Access
  /** Marks it deprecated in the API description; says what replaces it. */
  readonly deprecated?: { readonly since: string; readonly replacement: string }
  readonly request?: S
  /** Schema of the envelope's `data`; it is the serializer too, so undeclared members never leave. */
  readonly response: R
  readonly annotations?: readonly RouteAnnotation[]
  /**
   * Answers the payload of the envelope. Business failures are thrown as `BusinessError`. It may set headers and cookies
   * on the reply; to send by itself it must be a raw route.
   */
  handler(request: RouteRequest<S>, reply: FastifyReply): Static<R> | Promise<Static<R>>
}

/** A route that answers in its own form: file, stream, redirect, page. No envelope is put around what it sends. */
export interface RawRouteDeclaration {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly summary: string
  readonly tags?: readonly string[]
  readonly access: Access
  /** Media types that it sends, for the API description. */
  readonly produces: readonly string[]
  readonly request?: RequestSchemas
  readonly annotations?: readonly RouteAnnotation[]
  /** True keeps it out of the API description and frees its path from the rules of API paths: pages and assets. */
  readonly hidden?: boolean
  /** True: what fails unexpectedly is HTTP 500 too. For callers that look at nothing else, such as pages that show a picture. */
  readonly plainFaults?: boolean
  handler(request: FastifyRequest, reply: FastifyReply): unknown
}

/** What guards and lists see of a route. */
export interface RouteInfo {
  readonly method: string
  /** The route pattern, not the URL. */
  readonly path: string
  readonly plugin: string
  readonly summary: string
  readonly access: Access
  /** True for pages, assets and probes, which the API description leaves out. */
  readonly hidden: boolean
  readonly annotations: readonly RouteAnnotation[]
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
  /** For the API description: what a caller of a `signed` route sends so that this guard lets the request pass. */
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
  readonly schemes: Readonly<Record<string, object>>
  /** What the caller must have been granted. */
  readonly scopes: readonly string[]
}

export interface HttpServer {
  /** Adds a route. Only during set-up. Throws on a missing access rule, a bad path or a taken method and path. */
  route<const S extends RequestSchemas = Record<never, never>, R extends TSchema = TSchema>(
    plugin: string,
    declaration: RouteDeclaration<S, R>,
  ): void
  rawRoute(plugin: string, declaration: RawRouteDeclaration): void
  /** Adds a guard for all routes, those of earlier plugins included. Only during set-up. */
  guard(guard: RouteGuard): void
  /** Adds what stands around handlers, those of earlier plugins included; the first is the outermost. Only during set-up. */
  wrap(wrapper: RouteWrapper): void
  /**
   * Runs the handler before anything else on every request, also on those that no route takes, to pages and to WebSocket
   * handshakes. Only during set-up. A handler that answers at once costs little; a slow one slows down everything.
   */
  everyRequest(handler: GuardHandler): void
  /** Registers a Fastify plugin: static files, WebSocket. Only during set-up. */
  register(plugin: FastifyPluginCallback): void
  register(plugin: FastifyPluginAsync): void
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
  openapi(): Promise<object>
  /** Base URL once it listens. */
  readonly url: string | undefined
  /** Runs a request through the full stack without a socket. Ends registration. */
  inject(options: InjectOptions | string): Promise<LightMyRequestResponse>
}

/** The product's HTTP server. */
export const http = service<HttpServer>('http', { from: '@plinth/http' })

/** The product's Prometheus registry. Tags must be bounded: never keys, addresses, names. */
export const metrics = service<Registry>('metrics', { from: '@plinth/http' })

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
