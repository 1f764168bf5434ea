import type { FastifyPluginAsync, FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { GuardHandler, RouteGuard, RouteWrapper } from '../contract.ts'
import { httpError } from '../errors.ts'
import type { Access, RawRouteDeclaration, Route, RouteAnnotation, RouteDeclaration, RouteInfo } from './declaration.ts'
import { operationIdOf, pathFault, pathShape } from './route-rules.ts'

/** A route as it was declared, together with what guards see of it and with its handler joined to its parts. */
export type BookedRoute = {
  readonly info: RouteInfo
  handle(request: FastifyRequest, reply: FastifyReply): unknown
} & (
  | { readonly kind: 'envelope'; readonly declaration: Omit<RouteDeclaration, 'handler'> }
  | { readonly kind: 'raw'; readonly declaration: Omit<RawRouteDeclaration, 'handler'> }
)

/** A Fastify plugin that brings routes of its own. */
export interface BookedFastifyPlugin {
  readonly plugin: string
  readonly access: Access
  readonly annotations: readonly RouteAnnotation[]
  readonly register: FastifyPluginCallback | FastifyPluginAsync
}

const noAccess = 'has no access rule; say "public", "user" or { permission }'
const camelCase = /^[a-z][A-Za-z0-9]*$/

/** Everything that plugins registered during set-up. It is data: the server is built from it when all have spoken. */
export class RouteBook {
  readonly #routes = new Map<string, BookedRoute>()
  /** Routes of the API description by their operation ids. */
  readonly #operations = new Map<string, RouteInfo>()
  readonly #foreignRoutes: RouteInfo[] = []
  readonly #guards: RouteGuard[] = []
  readonly #wrappers: RouteWrapper[] = []
  readonly #onEveryRequest: GuardHandler[] = []
  readonly #fastifyPlugins: BookedFastifyPlugin[] = []
  #isClosed = false

  get routes(): readonly BookedRoute[] {
    return [...this.#routes.values()]
  }
  /** All routes, those of Fastify plugins included. */
  get infos(): readonly RouteInfo[] {
    return [...this.routes.map(({ info }) => info), ...this.#foreignRoutes]
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
  get fastifyPlugins(): readonly BookedFastifyPlugin[] {
    return this.#fastifyPlugins
  }

  /** Throws `PLINTH_HTTP_ROUTE_REFUSED` or `PLINTH_HTTP_REGISTRATION_ENDED`. */
  add<P>(plugin: string, { kind, declaration }: Route<P>, parts: P): void {
    this.#duringSetup('addRoutes')
    const hidden = kind === 'raw' && declaration.hidden === true
    const info = infoOf(plugin, declaration, hidden)
    const { handler } = declaration
    const handle = (request: FastifyRequest, reply: FastifyReply) => handler(request as never, parts, reply)
    const shape = `${info.method} ${pathShape(info.path)}`
    const fault = this.#faultOf(info, shape)
    const { method, path } = info
    if (fault !== undefined) throw httpError('PLINTH_HTTP_ROUTE_REFUSED', { method, path, plugin, fault })
    this.#routes.set(shape, { kind, declaration, info, handle } as BookedRoute)
    if (!hidden) this.#operations.set(info.operationId, info)
  }

  /** Notes a route of a Fastify plugin, known only when the server is built. */
  addForeignRoute(info: RouteInfo): void {
    this.#foreignRoutes.push(info)
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

  addFastifyPlugin(plugin: BookedFastifyPlugin): void {
    this.#duringSetup('register')
    if (plugin.access === undefined) {
      const route = { method: 'any', path: 'of a Fastify plugin', plugin: plugin.plugin }
      throw httpError('PLINTH_HTTP_ROUTE_REFUSED', { ...route, fault: noAccess })
    }
    this.#fastifyPlugins.push(plugin)
  }

  close(): void {
    this.#isClosed = true
  }

  #faultOf({ path, access, hidden, operationId }: RouteInfo, shape: string): string | undefined {
    if (access === undefined) return noAccess
    const taken = this.#routes.get(shape)?.info
    const named = this.#operations.get(operationId)
    return (
      (hidden ? undefined : pathFault(path, access)) ??
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

type Declared = Pick<RouteDeclaration, 'path' | 'summary' | 'access' | 'annotations' | 'operationId'> & {
  readonly method: string
}

function infoOf(plugin: string, declared: Declared, hidden: boolean): RouteInfo {
  const { method, path, summary, access, annotations = [], operationId = operationIdOf(method, path) } = declared
  return Object.freeze({ method, path, operationId, plugin, summary, access, hidden, annotations })
}

/** What guards and lists see of a route that a Fastify plugin brings. */
export const foreignRoute = (
  { plugin, access, annotations }: Pick<BookedFastifyPlugin, 'plugin' | 'access' | 'annotations'>,
  method: string,
  path: string,
): RouteInfo => infoOf(plugin, { method, path, summary: 'Brought by a Fastify plugin', access, annotations }, true)
