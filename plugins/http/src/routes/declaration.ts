import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'

/**
 * Access rule, which each route must declare. `signed`: callers sign the request. Such a route rejects all requests
 * unless a guard of the stage `signature` applies to it.
 */
export type Access = 'public' | 'user' | 'signed' | PermissionAccess

export interface PermissionAccess {
  readonly permission: string
  /** Rows that the route may read and change (decision F1). */
  readonly scope: RowVisibility
  /**
   * If true, callers with the permission for a single group of configuration keys may call the route too. The handler
   * checks the group. See `PermissionDeclaration.perConfigGroup`.
   */
  readonly orGroup?: boolean
}

/**
 * Rows of users and organisations that an operation may reach (decision F1).
 *
 * - `caller`: rows in the data scope of the caller. The plugin must restrict its queries to them.
 * - `all`: rows of several organisations that cannot be separated, and changes of things that all organisations share,
 *   such as the configuration (decision G24). The access guard rejects callers with a smaller data scope.
 * - `none`: no rows of users or organisations.
 */
export type RowVisibility = 'caller' | 'all' | 'none'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface RequestSchemas {
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
}

export type HttpRequest = FastifyRequest
export type HttpReply = FastifyReply

type Validated<S> = S extends TSchema ? Static<S> : undefined

/** A request with validated parameters, query and body. */
export type RouteRequest<S extends RequestSchemas = RequestSchemas> = Omit<
  FastifyRequest,
  'params' | 'query' | 'body'
> & {
  readonly params: Validated<S['params']>
  readonly query: Validated<S['query']>
  readonly body: Validated<S['body']>
}

/** Data on a route for another plugin, for example a rate limit. The other plugin finds it by its id. */
export interface RouteAnnotation<T = unknown> {
  readonly id: string
  readonly value: T
}

interface RouteFacts {
  readonly method: Method
  /**
   * `/api/v{major}/{domain}/...` or `/api/v{major}/admin/{domain}/...`. Parameters have Fastify syntax, for example
   * `:id`.
   */
  readonly path: string
  /**
   * True for an old route with a permission whose path is not below `/api/v{major}/admin/` (decision D16). Do not set
   * it for new routes.
   */
  readonly legacyPath?: boolean
  /**
   * Name of the operation in the API description and in generated clients: camelCase, unique, never changed. Default:
   * from method and path, for example `getAdminShopItemsById` for `GET /api/v1/admin/shop/items/:id`.
   */
  readonly operationId?: string
  readonly summary: string
  readonly description?: string
  /** Groups of the operation in the API description. Default: the first part of the plugin id. */
  readonly tags?: readonly string[]
  readonly access: Access
  /** Marks the route as deprecated. It may be removed in a later minor version. */
  readonly deprecated?: {
    /** Version that first deprecated the route, for example `1.4.0`. */
    readonly since: string
    /** Method and path of the replacement, as in the API description. */
    readonly replacement: string
    /** Describes what callers must change in addition to the address. */
    readonly migration?: string
  }
  /**
   * Maximum age of the caller's last proof of identity, a duration from `1m` to `24h`, for example `5m`. Only for routes
   * with the access `user` or a permission. The plugin `iam` asks for a new proof while
   * `platform.iam.fresh-proof.enabled` is true. Use it for operations that a stolen session must not reach: secrets,
   * permissions, money, erasure.
   */
  readonly fresh?: string
  readonly annotations?: readonly RouteAnnotation[]
  /**
   * If false, the response is never compressed. Set it for a response with a secret, such as a token: the length of a
   * compressed response reveals how similar the secret is to text that the caller chose (BREACH). Also set it for a
   * route that sends byte ranges. By default, the response is compressed if the caller accepts it.
   */
  readonly compress?: boolean
  /**
   * Maximum size of the request body in bytes, for a route whose bodies can exceed `platform.http.body-limit`. The
   * larger of both limits applies.
   */
  readonly maxBodyBytes?: number
  /**
   * Reasons of the errors that the handler throws, for example `shop.order-unknown`, for the API description. Those of
   * guards and wrappers are added. `*` allows reasons that are not known in advance. Default: all reasons that the
   * plugin declares, and `*`.
   */
  readonly reasons?: readonly string[]
}

/** A route with an envelope. `P`: type of the dependencies of its handler; see `routesWith`. */
export interface RouteDeclaration<S extends RequestSchemas = RequestSchemas, R extends TSchema = TSchema, P = void>
  extends RouteFacts {
  readonly request?: S
  /** Schema of `data` in the envelope. Members that it does not declare are not sent. */
  readonly response: R
  /**
   * Returns the payload of the envelope, or throws a `BusinessError`. It may set headers and cookies on the reply. A
   * handler that sends the reply itself needs a raw route.
   */
  readonly handler: (request: RouteRequest<S>, parts: P, reply: FastifyReply) => Static<R> | Promise<Static<R>>
}

/** A route without an envelope: for a file, a stream, a redirect or a page. */
export interface RawRouteDeclaration<S extends RequestSchemas = RequestSchemas, P = void> extends RouteFacts {
  /** Media types of the response, for the API description. */
  readonly produces: readonly string[]
  readonly request?: S
  /** Omits the route from the API description. Its path need not follow the rules of API paths. */
  readonly hidden?: boolean
  /**
   * If true, an unexpected error has HTTP status 500 instead of 200. Set it for callers that read only the status, such
   * as image elements.
   */
  readonly plainSchemaProblems?: boolean
  readonly handler: (request: RouteRequest<S>, parts: P, reply: FastifyReply) => unknown
}

/** A declared route. `HttpServer.addRoutes` passes the dependencies `P` to its handler. */
export type Route<P = void> =
  | { readonly kind: 'envelope'; readonly declaration: RouteDeclaration<RequestSchemas, TSchema, P> }
  | { readonly kind: 'raw'; readonly declaration: RawRouteDeclaration<RequestSchemas, P> }

export interface RouteBuilders<P> {
  route<const S extends RequestSchemas = Record<never, never>, R extends TSchema = TSchema>(
    declaration: RouteDeclaration<S, R, P>,
  ): Route<P>
  rawRoute<const S extends RequestSchemas = Record<never, never>>(declaration: RawRouteDeclaration<S, P>): Route<P>
}

const builders: RouteBuilders<never> = {
  route: (declaration) => ({ kind: 'envelope', declaration: declaration as never }),
  rawRoute: (declaration) => ({ kind: 'raw', declaration: declaration as never }),
}

/**
 * Returns functions that declare routes. `P` is the type of the dependencies of the handlers, for example services.
 * `addRoutes` passes the dependencies.
 *
 * @example
 * const { route } = routesWith<{ readonly items: Items }>()
 * export const itemRoutes = [
 *   route({
 *     method: 'GET',
 *     path: '/api/v1/shop/items/:id',
 *     summary: 'One item',
 *     access: 'user',
 *     request: { params: idParams },
 *     response: itemView,
 *     handler: ({ params }, { items }) => items.get(params.id),
 *   }),
 * ]
 * // in `setup`
 * services.http.addRoutes(itemRoutes, { items })
 */
export const routesWith = <P = void>(): RouteBuilders<P> => builders as RouteBuilders<P>

export interface RouteInfo {
  readonly method: string
  /** Path pattern of the route, for example `/api/v1/shop/items/:id`. */
  readonly path: string
  readonly operationId: string
  readonly plugin: string
  readonly summary: string
  readonly access: Access
  /** True for pages, assets and probes. The API description omits them. */
  readonly hidden: boolean
  /** False for a route whose responses are never compressed. */
  readonly isCompressed: boolean
  readonly annotations: readonly RouteAnnotation[]
  /** See `RouteDeclaration.fresh`. */
  readonly fresh?: string
  readonly deprecated?: RouteFacts['deprecated']
}

/**
 * What happens while the store of a limit fails. `insurance`: this process counts in memory, so each instance allows
 * the whole limit. `closed`: the request is rejected. `open`: the request is not counted. Logins and codes must use
 * `closed`.
 */
export type FailurePolicy = 'insurance' | 'closed' | 'open'

/**
 * Who shares a count: all callers, or callers with the same client address, user or route. With `ROUTE`, routes have
 * separate counts even if they have the same `key`.
 */
export type KeyStrategy = 'GLOBAL' | 'IP' | 'USER' | 'ROUTE' | 'IP_ROUTE' | 'USER_ROUTE'

/** Rate limit of a route (document 1 of the specification, "Declarative limit parameters"). */
export interface RateLimited {
  /**
   * Name of the count. Routes with the same name share it, so they must have the same window. Default: method and path
   * pattern.
   */
  readonly key?: string
  /** Maximum number of requests per window. If it is 0, negative or undefined, the configured default applies. */
  readonly maxAttempts?: number
  /** Length of the window. If it is 0, negative or undefined, the configured default applies. */
  readonly windowSeconds?: number
  /** Number that each request adds to the count. Default: 1. */
  readonly cost?: number
  /** Name of the store. If it is undefined or empty, the default store is used. */
  readonly store?: string
  /** Which callers share a count. Default: `IP_ROUTE`. */
  readonly keyStrategy?: KeyStrategy
  /** What happens while the store fails. Default: the value of the key `platform.rate-limit.failure-policy`. */
  readonly failurePolicy?: FailurePolicy
  /** If true, requests are counted and reported but never rejected. Use it to test a limit. */
  readonly shadow?: boolean
  /**
   * If true, a rejected request gets 204 without a body. Use it only for heartbeats, tracking and log reports. The
   * product does not start if a route for logins, orders, payments or gateways sets it.
   */
  readonly silent?: boolean
}

export const rateLimitedAnnotation = 'rate-limit.limited'

/**
 * Limits a route if the product contains a limiter: `annotations: [rateLimited({ maxAttempts: 10, windowSeconds: 60
 * })]`. Only the first such annotation applies, so list the limit of a route before that of its group.
 */
export function rateLimited(limit: RateLimited): RouteAnnotation<RateLimited> {
  return { id: rateLimitedAnnotation, value: limit }
}

/**
 * Limit for exports and batch operations, which read or change many rows (document 1 of the specification, "Usage
 * rules" 6).
 */
export const bulkRateLimit = rateLimited({ maxAttempts: 10, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })

/** Limit for previews. It is higher than `bulkRateLimit`, because a preview changes nothing. */
export const previewRateLimit = rateLimited({ maxAttempts: 30, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })
