import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'

/**
 * Access rule of a route. Each route declares one; there is no default. `signed`: callers prove their identity by a
 * signature over the request. The route is closed unless a guard of the stage `signature` applies to it.
 */
export type Access = 'public' | 'user' | 'signed' | PermissionAccess

/** Access for callers with a permission. */
export interface PermissionAccess {
  readonly permission: string
  /** Rows that the route may read and change. Required for each route with a permission (decision F.1). */
  readonly scope: RowScope
}

/**
 * Which rows of users and organisations an operation may reach (decision F.1).
 *
 * - `caller`: the rows within the data scope of the caller. The plugin restricts them, in one place.
 * - `all`: rows of several organisations that cannot be separated. The access guard rejects callers with a smaller data
 *   scope.
 * - `none`: the operation reads and changes no row of a user or an organisation.
 */
export type RowScope = 'caller' | 'all' | 'none'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface RequestSchemas {
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
}

export type HttpRequest = FastifyRequest
export type HttpReply = FastifyReply

type Validated<S> = S extends TSchema ? Static<S> : undefined

/** A validated request with the fields that the product adds, for handlers. */
export type RouteRequest<S extends RequestSchemas = RequestSchemas> = Omit<
  FastifyRequest,
  'params' | 'query' | 'body'
> & {
  readonly params: Validated<S['params']>
  readonly query: Validated<S['query']>
  readonly body: Validated<S['body']>
}

/** A typed note on a route for another plugin, for example a rate limit. The other plugin finds it by its id. */
export interface RouteAnnotation<T = unknown> {
  readonly id: string
  readonly value: T
}

interface RouteFacts {
  readonly method: Method
  /** `/api/v{major}/{domain}/...` or `/api/v{major}/admin/{domain}/...`; parameters in Fastify syntax. */
  readonly path: string
  /**
   * True for a route that requires a permission although its published path is outside `/api/v{major}/admin/`
   * (decision D16). Do not set it for new routes.
   */
  readonly legacyPath?: boolean
  /**
   * Name of the operation in the API description and in generated clients, in camelCase and unique in the product.
   * Default: from method and path, for example `getAdminShopItemsById` for `GET /api/v1/admin/shop/items/:id`. It is
   * part of the API and must not change.
   */
  readonly operationId?: string
  readonly summary: string
  readonly description?: string
  /** Groups of the operation in the API description. Default: the name of the plugin. */
  readonly tags?: readonly string[]
  readonly access: Access
  /** Marks the route as deprecated in the API description. It may be removed after a complete minor cycle. */
  readonly deprecated?: {
    /** Version of the product that first marked it, such as `1.4.0`. */
    readonly since: string
    /** Method and path of the replacement, as in the API description. */
    readonly replacement: string
    /** Changes that callers need besides the address. */
    readonly migration?: string
  }
  readonly annotations?: readonly RouteAnnotation[]
  /**
   * `false`: the response is never compressed. Set it for a response that contains a secret, such as a token: the
   * length of a compressed response reveals how similar the secret is to text that a caller chose (BREACH). Set it too
   * for a route that sends byte ranges. Default: compressed, if the caller accepts it.
   */
  readonly compress?: boolean
  /**
   * Reasons of the business errors that the handler throws, such as `shop.order-unknown`, for the API description and for
   * generated clients. Guards and wrappers add theirs. `*` allows further reasons that are not known in advance, for
   * example error codes of a provider. Default: all reasons that the plugin declares, and `*`.
   */
  readonly reasons?: readonly string[]
}

/** A route that responds with an envelope. `P`: dependencies of its handler, see `routesWith`. */
export interface RouteDeclaration<S extends RequestSchemas = RequestSchemas, R extends TSchema = TSchema, P = void>
  extends RouteFacts {
  readonly request?: S
  /** Schema of the envelope's `data`. It also serializes, so undeclared members are not sent. */
  readonly response: R
  /**
   * Returns the payload of the envelope. Business failures are thrown as `BusinessError`. The handler may set headers
   * and cookies on the reply. To send the response itself, declare a raw route.
   */
  readonly handler: (request: RouteRequest<S>, parts: P, reply: FastifyReply) => Static<R> | Promise<Static<R>>
}

/** A route that responds in its own format, without an envelope: file, stream, redirect, page. */
export interface RawRouteDeclaration<S extends RequestSchemas = RequestSchemas, P = void> extends RouteFacts {
  /** Media types of the response, for the API description. */
  readonly produces: readonly string[]
  readonly request?: S
  /** For pages and assets: hides the route in the API description and exempts its path from the rules of API paths. */
  readonly hidden?: boolean
  /**
   * If true, an unexpected error has HTTP status 500. Set it for callers that read only the status, such as image
   * elements of pages.
   */
  readonly plainSchemaProblems?: boolean
  readonly handler: (request: RouteRequest<S>, parts: P, reply: FastifyReply) => unknown
}

/** A declared route of either kind. It is plain data until `HttpServer.addRoutes` connects it with its dependencies. */
export type Route<P = void> =
  | { readonly kind: 'envelope'; readonly declaration: RouteDeclaration<RequestSchemas, TSchema, P> }
  | { readonly kind: 'raw'; readonly declaration: RawRouteDeclaration<RequestSchemas, P> }

/** Declares routes whose handlers depend on `P`; see `routesWith`. */
export interface RouteBuilders<P> {
  /** Declares a route that responds with an envelope. */
  route<const S extends RequestSchemas = Record<never, never>, R extends TSchema = TSchema>(
    declaration: RouteDeclaration<S, R, P>,
  ): Route<P>
  /** Declares a route that responds in its own format. */
  rawRoute<const S extends RequestSchemas = Record<never, never>>(declaration: RawRouteDeclaration<S, P>): Route<P>
}

const builders: RouteBuilders<never> = {
  route: (declaration) => ({ kind: 'envelope', declaration: declaration as never }),
  rawRoute: (declaration) => ({ kind: 'raw', declaration: declaration as never }),
}

/**
 * Returns the builders of routes. Routes are data, in one array per subject. `P` is the type of the dependencies of their
 * handlers (services, stores). The plugin passes the dependencies when it adds the routes.
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

/** Description of a route for guards and lists of routes. */
export interface RouteInfo {
  readonly method: string
  /** The route pattern, not the URL. */
  readonly path: string
  readonly operationId: string
  readonly plugin: string
  readonly summary: string
  readonly access: Access
  /** True for pages, assets and probes, which the API description omits. */
  readonly hidden: boolean
  /** False for a route whose responses are never compressed. */
  readonly isCompressed: boolean
  readonly annotations: readonly RouteAnnotation[]
  readonly deprecated?: RouteFacts['deprecated']
}

/**
 * Handling of a request while its store fails. `insurance` counts in the memory of this process, so each instance has
 * the whole limit. `closed` rejects the request. `open` allows it without counting. Logins and codes are `closed`.
 */
export type FailurePolicy = 'insurance' | 'closed' | 'open'

/**
 * Parts of a declarative key besides the business key: none, the client address, the caller's identity, the route, or
 * two of them. Strategies with `ROUTE` separate routes even if they share a business key.
 */
export type KeyStrategy = 'GLOBAL' | 'IP' | 'USER' | 'ROUTE' | 'IP_ROUTE' | 'USER_ROUTE'

/** Declarative limit of a route (document 1, "Declarative limit parameters"). */
export interface RateLimited {
  /**
   * Business key, shared by all routes that specify it. Default: HTTP method and route pattern. Routes that share a
   * quota must specify the same window. Their limits may differ.
   */
  readonly key?: string
  /** <= 0 or undefined: the default. */
  readonly maxAttempts?: number
  /** <= 0 or undefined: the default. */
  readonly windowSeconds?: number
  /** Default 1. */
  readonly cost?: number
  /** Undefined or empty: the default store. */
  readonly store?: string
  /** Owner of the quota; default `IP_ROUTE`. */
  readonly keyStrategy?: KeyStrategy
  /** Default: `platform.rate-limit.failure-policy`. */
  readonly failurePolicy?: FailurePolicy
  /** True counts and reports without rejecting, to test a limit. */
  readonly shadow?: boolean
  /**
   * A rejected request gets 204 without a body. Only for heartbeats, tracking and log reports. On routes of logins,
   * orders, payments and gateways the product does not start with it.
   */
  readonly silent?: boolean
}

export const rateLimitedAnnotation = 'rate-limit.limited'

/**
 * Limits a route if the product has a limiter: `annotations: [rateLimited({ maxAttempts: 10, windowSeconds: 60 })]`.
 * The first of several annotations applies, so a route puts its own before those of its group.
 */
export function rateLimited(limit: RateLimited): RouteAnnotation<RateLimited> {
  return { id: rateLimitedAnnotation, value: limit }
}

/**
 * The limit of exports and batch endpoints, which read or change many rows: a separate quota, lower than the default
 * (document 1, "Usage rules" 6).
 */
export const bulkLimited = rateLimited({ maxAttempts: 10, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })

/** The limit of a preview, which reads many rows and changes nothing. Each review of changes sends one. */
export const previewLimited = rateLimited({ maxAttempts: 30, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })
