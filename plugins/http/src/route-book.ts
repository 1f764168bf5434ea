import { PlinthError } from '@plinth/kernel'
import type { FastifyPluginAsync, FastifyPluginCallback } from 'fastify'
import type {
  GuardHandler,
  RawRouteDeclaration,
  RouteDeclaration,
  RouteGuard,
  RouteInfo,
  RouteWrapper,
} from './contract.ts'
import { pathFault, pathShape } from './route-rules.ts'

/** A route as it was declared, together with what guards see of it. */
export type BookedRoute = { readonly info: RouteInfo } & (
  | { readonly kind: 'envelope'; readonly declaration: RouteDeclaration }
  | { readonly kind: 'raw'; readonly declaration: RawRouteDeclaration }
)

/** Everything that plugins registered during set-up. It is data: the server is built from it when all have spoken. */
export class RouteBook {
  readonly #routes = new Map<string, BookedRoute>()
  readonly #guards: RouteGuard[] = []
  readonly #wrappers: RouteWrapper[] = []
  readonly #onEveryRequest: GuardHandler[] = []
  readonly #fastifyPlugins: (FastifyPluginCallback | FastifyPluginAsync)[] = []
  #isClosed = false

  get routes(): readonly BookedRoute[] {
    return [...this.#routes.values()]
  }
  get guards(): readonly RouteGuard[] {
    return this.#guards
  }
  get wrappers(): readonly RouteWrapper[] {
    return this.#wrappers
  }
  get onEveryRequest(): readonly GuardHandler[] {
    return this.#onEveryRequest
  }
  get fastifyPlugins(): readonly (FastifyPluginCallback | FastifyPluginAsync)[] {
    return this.#fastifyPlugins
  }

  /** Throws `PLINTH_HTTP_ROUTE_REFUSED` or `PLINTH_HTTP_REGISTRATION_ENDED`. */
  addRoute(plugin: string, declaration: RouteDeclaration): void {
    this.#add({ kind: 'envelope', declaration, info: infoOf(plugin, declaration, false) })
  }

  addRawRoute(plugin: string, declaration: RawRouteDeclaration): void {
    this.#add({ kind: 'raw', declaration, info: infoOf(plugin, declaration, declaration.hidden ?? false) })
  }

  addGuard(guard: RouteGuard): void {
    this.#duringSetup('guard')
    this.#guards.push(guard)
  }

  addWrapper(wrapper: RouteWrapper): void {
    this.#duringSetup('wrap')
    this.#wrappers.push(wrapper)
  }

  addOnEveryRequest(handler: GuardHandler): void {
    this.#duringSetup('everyRequest')
    this.#onEveryRequest.push(handler)
  }

  addFastifyPlugin(plugin: FastifyPluginCallback | FastifyPluginAsync): void {
    this.#duringSetup('register')
    this.#fastifyPlugins.push(plugin)
  }

  close(): void {
    this.#isClosed = true
  }

  #add(route: BookedRoute): void {
    this.#duringSetup('route')
    const { method, path, plugin, access, hidden } = route.info
    const shape = `${method} ${pathShape(path)}`
    const other = this.#routes.get(shape)
    const fault =
      (access === undefined ? 'has no access rule; say "public", "user" or { permission }' : undefined) ??
      (hidden ? undefined : pathFault(path, access)) ??
      (other === undefined ? undefined : `is taken by ${other.info.path} of plugin "${other.info.plugin}"`)
    if (fault !== undefined) {
      throw new PlinthError(
        'PLINTH_HTTP_ROUTE_REFUSED',
        `Route ${method} ${path} of plugin "${plugin}" ${fault}.`,
        'Correct the declaration of the route.',
      )
    }
    this.#routes.set(shape, route)
  }

  #duringSetup(member: string): void {
    if (!this.#isClosed) return
    throw new PlinthError(
      'PLINTH_HTTP_REGISTRATION_ENDED',
      `http.${member}() was called after the server had been built.`,
      'Call it during set-up.',
    )
  }
}

function infoOf(plugin: string, declaration: RouteDeclaration | RawRouteDeclaration, hidden: boolean): RouteInfo {
  const { method, path, summary, access, annotations = [] } = declaration
  return Object.freeze({ method, path, plugin, summary, access, hidden, annotations })
}
