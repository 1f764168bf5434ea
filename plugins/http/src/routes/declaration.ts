import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'

/**
 * Who may call a route. Every route says so; there is no default. `signed`: callers that prove themselves by a signature
 * over the request; closed unless a guard of the stage `signature` takes the route.
 */
export type Access = 'public' | 'user' | 'signed' | PermissionAccess

/** Access for callers who hold a permission. */
export interface PermissionAccess {
  readonly permission: string
  /** Which rows the route may read and change. Every route that needs a permission declares it (decision F.1). */
  readonly scope: RowScope
}

/**
 * Which rows of users and organisations an operation may reach (decision F.1).
 *
 * - `caller`: the rows within the data scope of the caller. The plugin restricts them, in one place.
 * - `all`: rows of several organisations that cannot be separated. The access guard rejects callers with a smaller data scope.
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

/** A request as handlers see it: validated, with the product's own facts about it. */
export type RouteRequest<S extends RequestSchemas = RequestSchemas> = Omit<
  FastifyRequest,
  'params' | 'query' | 'body'
> & {
  readonly params: Validated<S['params']>
  readonly query: Validated<S['query']>
  readonly body: Validated<S['body']>
}

/** A typed note on a route that another plugin understands, for example a rate limit. Found by id. */
export interface RouteAnnotation<T = unknown> {
  readonly id: string
  readonly value: T
}

/** What every route says of itself. */
interface RouteFacts {
  readonly method: Method
  /** `/api/v{major}/{domain}/...` or `/api/v{major}/admin/{domain}/...`; Fastify syntax for parameters. */
  readonly path: string
  /**
   * The route needs a permission and lies outside of `/api/v{major}/admin/`, because its path was published that way (decision D16).
   * New routes do not.
   */
  readonly legacyPath?: boolean
  /**
   * Name of the operation in the API description and in generated clients, camelCase and unique in the product. By default
   * made of method and path: `GET /api/v1/admin/shop/items/:id` is `getAdminShopItemsById`. Part of the API: it stays.
   */
  readonly operationId?: string
  readonly summary: string
  readonly description?: string
  /** Groups of the API description; the plugin's name when absent. */
  readonly tags?: readonly string[]
  readonly access: Access
  /** Marks it deprecated in the API description, for a whole minor cycle at least: then it may go without breaking anybody. */
  readonly deprecated?: {
    /** Version of the product that marked it first, such as `1.4.0`. */
    readonly since: string
    /** Method and path of the route that does the same, as the API description writes them. */
    readonly replacement: string
    /** What callers change besides the address. */
    readonly migration?: string
  }
  readonly annotations?: readonly RouteAnnotation[]
}

/** A route that answers with an envelope. `P`: what its handler works with, see `routesWith`. */
export interface RouteDeclaration<S extends RequestSchemas = RequestSchemas, R extends TSchema = TSchema, P = void>
  extends RouteFacts {
  readonly request?: S
  /** Schema of the envelope's `data`; it is the serializer too, so undeclared members never leave. */
  readonly response: R
  /**
   * Answers the payload of the envelope. Business failures are thrown as `BusinessError`. It may set headers and cookies
   * on the reply; to send by itself it must be a raw route.
   */
  readonly handler: (request: RouteRequest<S>, parts: P, reply: FastifyReply) => Static<R> | Promise<Static<R>>
}

/** A route that answers in its own form: file, stream, redirect, page. No envelope is put around what it sends. */
export interface RawRouteDeclaration<S extends RequestSchemas = RequestSchemas, P = void> extends RouteFacts {
  /** Media types that it sends, for the API description. */
  readonly produces: readonly string[]
  readonly request?: S
  /** True keeps it out of the API description and frees its path from the rules of API paths: pages and assets. */
  readonly hidden?: boolean
  /** True: what fails unexpectedly is HTTP 500 too. For callers that look at nothing else, such as pages that show a picture. */
  readonly plainFaults?: boolean
  readonly handler: (request: RouteRequest<S>, parts: P, reply: FastifyReply) => unknown
}

/** A declared route, of whichever kind. Plain data: it does nothing before `HttpServer.addRoutes` joins it with its parts. */
export type Route<P = void> =
  | { readonly kind: 'envelope'; readonly declaration: RouteDeclaration<RequestSchemas, TSchema, P> }
  | { readonly kind: 'raw'; readonly declaration: RawRouteDeclaration<RequestSchemas, P> }

/** Writes down routes whose handlers work with parts of the type `P`: see `routesWith`. */
export interface RouteBuilders<P> {
  /** A route that answers with an envelope. */
  route<const S extends RequestSchemas = Record<never, never>, R extends TSchema = TSchema>(
    declaration: RouteDeclaration<S, R, P>,
  ): Route<P>
  /** A route that answers in its own form. */
  rawRoute<const S extends RequestSchemas = Record<never, never>>(declaration: RawRouteDeclaration<S, P>): Route<P>
}

const builders: RouteBuilders<never> = {
  route: (declaration) => ({ kind: 'envelope', declaration: declaration as never }),
  rawRoute: (declaration) => ({ kind: 'raw', declaration: declaration as never }),
}

/**
 * Routes are data: one array per subject. What their handlers work with (services, stores) is named by its type and given
 * when the plugin adds them.
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

/** What guards and lists see of a route. */
export interface RouteInfo {
  readonly method: string
  /** The route pattern, not the URL. */
  readonly path: string
  readonly operationId: string
  readonly plugin: string
  readonly summary: string
  readonly access: Access
  /** True for pages, assets and probes, which the API description leaves out. */
  readonly hidden: boolean
  readonly annotations: readonly RouteAnnotation[]
}
