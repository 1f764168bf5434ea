import { inSpan, omitUndefined, type Tracer } from '@plinth/kernel'
import type { FastifyPluginAsync, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { GuardHandler, RouteGuard, RouteWrapper } from '../contract.ts'
import { httpError } from '../errors.ts'
import type {
  Access,
  RawRouteDeclaration,
  Route,
  RouteAnnotation,
  RouteDeclaration,
  RouteInfo,
  RowVisibility,
} from './declaration.ts'
import { operationIdOf, pathProblem, pathShape, routeProblem } from './route-shape.ts'

export type RegisteredRoute = {
  readonly info: RouteInfo
  handle(request: FastifyRequest, reply: FastifyReply): unknown
} & (
  | { readonly kind: 'envelope'; readonly declaration: Omit<RouteDeclaration, 'handler'> }
  | { readonly kind: 'raw'; readonly declaration: Omit<RawRouteDeclaration, 'handler'> }
)

/** A Fastify plugin that adds routes. */
export interface RegisteredFastifyPlugin {
  readonly plugin: string
  readonly access: Access
  readonly annotations: readonly RouteAnnotation[]
  readonly register: FastifyPluginCallback | FastifyPluginAsync
}

/** A Fastify plugin without routes, for the whole application. */
interface RegisteredExtension {
  readonly plugin: string
  readonly register: FastifyPluginAsync
  readonly options: object | undefined
}

const noAccess = 'has no access rule; say "public", "user" or { permission }'
const camelCase = /^[a-z][A-Za-z0-9]*$/

/** Stores what plugins register during setup. The server is built from this data after setup. */
export class RouteRegistry {
  readonly #routes = new Map<string, RegisteredRoute>()
  /** Routes in the API description, by operation id. */
  readonly #operations = new Map<string, RouteInfo>()
  readonly #foreignRoutes: RouteInfo[] = []
  readonly #guards: RouteGuard[] = []
  readonly #wrappers: RouteWrapper[] = []
  /** Id of the plugin that added the guard or wrapper. */
  readonly #owners = new Map<RouteGuard | RouteWrapper, string>()
  readonly #onEveryRequest: GuardHandler[] = []
  readonly #fastifyPlugins: RegisteredFastifyPlugin[] = []
  readonly #extensions: RegisteredExtension[] = []
  readonly tracer?: Tracer | undefined
  #isClosed = false

  constructor(tracer?: Tracer) {
    this.tracer = tracer
  }

  get routes(): readonly RegisteredRoute[] {
    return [...this.#routes.values()]
  }
  /** All routes, including those of Fastify plugins. */
  get infos(): readonly RouteInfo[] {
    return [...this.routes.map(({ info }) => info), ...this.#foreignRoutes]
  }
  get guards(): readonly RouteGuard[] {
    return this.#guards
  }
  /** All wrappers, from the outermost to the innermost. */
  get wrappers(): readonly RouteWrapper[] {
    return this.#wrappers.toSorted((a, b) => Number(a.isInnermost ?? false) - Number(b.isInnermost ?? false))
  }
  get onEveryRequest(): readonly GuardHandler[] {
    return this.#onEveryRequest
  }
  get fastifyPlugins(): readonly RegisteredFastifyPlugin[] {
    return this.#fastifyPlugins
  }

  get extensions(): readonly RegisteredExtension[] {
    return this.#extensions
  }

  /** @throws PlinthError `PLINTH_HTTP_ROUTE_REFUSED`, `PLINTH_HTTP_SCOPE_MISSING`, `PLINTH_HTTP_REGISTRATION_ENDED` */
  add<P>(plugin: string, route: Route<P>, parts: P): void {
    this.#duringSetup('addRoutes')
    assertDeclaration(plugin, route)
    const { kind, declaration } = route
    const hidden = kind === 'raw' && declaration.hidden === true
    const info = infoOf(plugin, declaration, hidden)
    const { handler } = declaration
    const { tracer } = this
    const run = (request: FastifyRequest, reply: FastifyReply) => handler(request as never, parts, reply)
    const attributes = { 'plinth.plugin': plugin }
    const handle =
      tracer === undefined
        ? run
        : (request: FastifyRequest, reply: FastifyReply) =>
            inSpan<unknown>(tracer, 'handler', { attributes }, () => run(request, reply))
    const shape = `${info.method} ${pathShape(info.path)}`
    const fault = routeProblem(kind, declaration) ?? this.#problemOf(info, shape, declaration.legacyPath)
    const { method, path } = info
    if (fault !== undefined) throw httpError('PLINTH_HTTP_ROUTE_REFUSED', { method, path, plugin, fault })
    assertScope(info.access, `Route ${method} ${path}`, plugin)
    this.#routes.set(shape, { kind, declaration, info, handle } as RegisteredRoute)
    if (!hidden) this.#operations.set(info.operationId, info)
  }

  /** Adds a route of a Fastify plugin. Such routes are only known when the server is built. */
  addForeignRoute(info: RouteInfo): void {
    this.#foreignRoutes.push(info)
  }

  addGuard(plugin: string, guard: RouteGuard): void {
    this.#duringSetup('guard')
    const { name, stage, reasons } = guard
    const security: RouteGuard['security'] = (route) => guard.security?.(route)
    const added = { name, stage, security, ...oncePerRoute(guard), ...(reasons && { reasons }) }
    this.#guards.push(added)
    this.#owners.set(added, plugin)
  }

  addWrapper(plugin: string, wrapper: RouteWrapper): void {
    this.#duringSetup('wrap')
    const { name, reasons, isInnermost = false } = wrapper
    const headers: RouteWrapper['headers'] = (route) => wrapper.headers?.(route)
    const added = { name, headers, isInnermost, ...oncePerRoute(wrapper), ...(reasons && { reasons }) }
    this.#wrappers.push(added)
    this.#owners.set(added, plugin)
  }

  readonly ownerOf = (step: RouteGuard | RouteWrapper): string | undefined => this.#owners.get(step)

  addOnEveryRequest(handler: GuardHandler): void {
    this.#duringSetup('everyRequest')
    this.#onEveryRequest.push(handler)
  }

  addFastifyPlugin(plugin: RegisteredFastifyPlugin): void {
    this.#duringSetup('register')
    if (plugin.access === undefined) {
      const route = { method: 'any', path: 'of a Fastify plugin', plugin: plugin.plugin }
      throw httpError('PLINTH_HTTP_ROUTE_REFUSED', { ...route, fault: noAccess })
    }
    assertScope(plugin.access, 'A Fastify plugin', plugin.plugin)
    this.#fastifyPlugins.push(plugin)
  }

  addExtension(extension: RegisteredExtension): void {
    this.#duringSetup('extend')
    this.#extensions.push(extension)
  }

  close(): void {
    this.#isClosed = true
  }

  #problemOf({ path, access, hidden, operationId }: RouteInfo, shape: string, legacyPath = false): string | undefined {
    if (access === undefined) return noAccess
    const taken = this.#routes.get(shape)?.info
    const named = this.#operations.get(operationId)
    return (
      (hidden ? undefined : pathProblem(path, access, legacyPath)) ??
      (camelCase.test(operationId) ? undefined : `is wrong: its operation id "${operationId}" is not camelCase`) ??
      (taken && `is taken by ${taken.path} of plugin "${taken.plugin}"`) ??
      (hidden || named === undefined
        ? undefined
        : `has the operation id "${operationId}" of ${named.method} ${named.path} of plugin "${named.plugin}"`)
    )
  }

  #duringSetup(member: string): void {
    if (this.#isClosed) throw httpError('PLINTH_HTTP_REGISTRATION_ENDED', { member })
  }
}

/** Calls the original `forRoute` once per route, so that the server and the API description use the same result. */
function oncePerRoute<T>(step: { forRoute(route: RouteInfo): T }): { forRoute(route: RouteInfo): T } {
  const results = new Map<RouteInfo, { readonly result: T }>()
  return {
    forRoute(route) {
      const known = results.get(route)
      if (known !== undefined) return known.result
      const result = step.forRoute(route)
      results.set(route, { result })
      return result
    },
  }
}

const rowScopes: readonly unknown[] = ['caller', 'all', 'none'] satisfies readonly RowVisibility[]

/**
 * Checks that a permission has a data scope, because plugins in plain JavaScript may omit it.
 *
 * @throws PlinthError `PLINTH_HTTP_SCOPE_MISSING`
 */
function assertScope(access: Access, route: string, plugin: string): void {
  if (typeof access === 'object' && !rowScopes.includes(access.scope)) {
    throw httpError('PLINTH_HTTP_SCOPE_MISSING', { route, plugin })
  }
}

interface Declared
  extends Pick<
    RouteDeclaration,
    'path' | 'summary' | 'access' | 'annotations' | 'operationId' | 'deprecated' | 'compress' | 'fresh'
  > {
  readonly method: string
}

function infoOf(plugin: string, declared: Declared, hidden: boolean): RouteInfo {
  const { method, path, summary, access, annotations = [], operationId = operationIdOf(method, path) } = declared
  const { deprecated, fresh, compress = true } = declared
  const facts = { method, path, operationId, plugin, summary, access, hidden, isCompressed: compress }
  return Object.freeze(omitUndefined<RouteInfo>({ ...facts, annotations, fresh, deprecated }))
}

export const describeFastifyRoute = (
  { plugin, access, annotations }: Pick<RegisteredFastifyPlugin, 'plugin' | 'access' | 'annotations'>,
  method: string,
  path: string,
): RouteInfo => infoOf(plugin, { method, path, summary: 'Added by a Fastify plugin', access, annotations }, true)

/**
 * Throws if the value is not a declared route. Plugins in plain JavaScript may pass any value to `route`, or pass
 * `addRoutes` an object that `route` did not create.
 */
function assertDeclaration(plugin: string, given: unknown): void {
  const isMade = Object.hasOwn(Object(given), 'declaration')
  const declaration: unknown = isMade ? Object(given).declaration : given
  const { method, path, handler }: Partial<Record<'method' | 'path' | 'handler', unknown>> = Object(declaration)
  if (isMade && typeof method === 'string' && typeof path === 'string' && typeof handler === 'function') return
  const text = (value: unknown, member: string) => (typeof value === 'string' ? value : `(no ${member})`)
  const name = typeof declaration === 'string' ? declaration : text(path, 'path')
  const fault = isMade
    ? 'is not a declaration: pass one object with method, path and handler'
    : 'did not go through route() or rawRoute() of routesWith(): pass what they return'
  throw httpError('PLINTH_HTTP_ROUTE_REFUSED', { method: text(method, 'method'), path: name, plugin, fault })
}
