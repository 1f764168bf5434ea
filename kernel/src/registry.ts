// The build for browsers: the one for Node.js loads a file searcher that nothing here needs, half of its start and 10 MB.
import { type AwilixContainer, asValue, createContainer } from 'awilix/browser'
import { kernelError } from './errors.ts'
import { lockMethods, MapView } from './read-only.ts'
import type { ExtensionPoint, Requirements, ServiceRef } from './refs.ts'

/**
 * What the plugins of one product give each other: services, and implementations that hang on extension points. Order
 * and disposal are the kernel's: awilix would dispose everything at once.
 */
export class Registry {
  readonly #services: AwilixContainer = createContainer({ strict: true })
  readonly #points = new Map<string, Map<string, unknown>>()
  readonly #contributors = new Map<string, string>()

  /** awilix lets the last registration win silently; here a second one is an error. */
  provide(plugin: string, { id }: ServiceRef<unknown>, implementation: unknown): void {
    if (this.provides(id)) throw kernelError('PLINTH_SERVICE_PROVIDED_TWICE', { plugin, service: id })
    this.#services.register(id, asValue(implementation))
  }

  provides(service: string): boolean {
    return this.#services.hasRegistration(service)
  }

  service<T>({ id, from = 'a plugin that provides it' }: ServiceRef<T>): T {
    if (this.provides(id)) return this.#services.resolve<T>(id)
    throw kernelError('PLINTH_SERVICE_UNKNOWN', { service: id, provider: from })
  }

  /** The services of a plugin by the names that it gave them; an absent optional one is `undefined`. */
  servicesOf(requirements: Requirements): Readonly<Record<string, unknown>> {
    const given = Object.entries(requirements).map(([name, requirement]) => {
      const isOptional = requirement.kind === 'optional'
      const { id } = isOptional ? requirement.ref : requirement
      return [name, this.#services.resolve(id, { allowUnregistered: isOptional })]
    })
    return Object.freeze(Object.fromEntries(given))
  }

  contribute(plugin: string, { id: point }: ExtensionPoint<unknown>, name: string, implementation: unknown): void {
    const place = `${point}\0${name}`
    const other = this.#contributors.get(place)
    if (other !== undefined) throw kernelError('PLINTH_CONTRIBUTION_DUPLICATE', { plugin, name, point, other })
    this.#contributors.set(place, plugin)
    lockMethods(implementation)
    this.#at(point).set(name, implementation)
  }

  /** Live view, by name. */
  contributions<T>(point: ExtensionPoint<T>): ReadonlyMap<string, T> {
    return new MapView(this.#at(point.id) as Map<string, T>)
  }

  #at(point: string): Map<string, unknown> {
    const found = this.#points.get(point) ?? new Map<string, unknown>()
    this.#points.set(point, found)
    return found
  }
}
