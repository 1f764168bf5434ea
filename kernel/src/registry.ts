// The build for browsers: the one for Node.js loads a file searcher that nothing here needs, half of its start and 10 MB.
import { type AwilixContainer, asValue, createContainer } from 'awilix/browser'
import { kernelError } from './errors/kernel-errors.ts'
import { lockMethods, MapView } from './read-only.ts'
import {
  type Consumer,
  type ExtensionPoint,
  type Requirements,
  refOf,
  type ServiceRef,
  type Unchecked,
} from './refs.ts'

/**
 * What the plugins of one product give each other: services, and implementations that hang on extension points. Order
 * and disposal are the kernel's: awilix would dispose everything at once.
 */
export class Registry {
  readonly #services: AwilixContainer = createContainer({ strict: true })
  /** Where a plugin makes the parts of which it consists. */
  readonly createScope = () => this.#services.createScope()
  readonly #points = new Map<string, Map<string, unknown>>()
  readonly #contributors = new Map<string, string>()

  /**
   * awilix lets the last registration win silently; here a second one is an error.
   *
   * @param implementationFor gives each consumer its implementation; called once per consumer
   */
  provide<T>(plugin: string, { id }: ServiceRef<T>, implementationFor: (consumer: Consumer) => T): void {
    if (this.provides(id)) throw kernelError('PLINTH_SERVICE_PROVIDED_TWICE', { plugin, service: id })
    const given = new Map<string, T>()
    const give = (consumer: Consumer): T => {
      if (!given.has(consumer.id)) given.set(consumer.id, implementationFor(consumer))
      return given.get(consumer.id) as T
    }
    this.#services.register(id, asValue(give))
  }

  provides(service: string): boolean {
    return this.#services.hasRegistration(service)
  }

  service<T>({ id, from = 'a plugin that provides it' }: ServiceRef<T>, consumer: Consumer): T {
    if (this.provides(id)) return this.#services.resolve<(consumer: Consumer) => T>(id)(consumer)
    throw kernelError('PLINTH_SERVICE_UNKNOWN', { service: id, provider: from })
  }

  /** The services of a plugin by the names that it gave them; an absent optional one is `undefined`. */
  servicesOf(requirements: Requirements, consumer: Consumer): Readonly<Record<string, unknown>> {
    const given = Object.entries(requirements).map(([name, requirement]) => {
      const ref = refOf(requirement)
      const isAbsent = requirement.kind === 'optional' && !this.provides(ref.id)
      return [name, isAbsent ? undefined : this.service(ref, consumer)]
    })
    return Object.freeze(Object.fromEntries(given))
  }

  contribute(plugin: string, { id: point }: ExtensionPoint<Unchecked>, name: string, implementation: unknown): void {
    const place = placeOf(point, name)
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

  /** Id of the plugin that contributed it. */
  contributor({ id: point }: ExtensionPoint<Unchecked>, name: string): string | undefined {
    return this.#contributors.get(placeOf(point, name))
  }

  #at(point: string): Map<string, unknown> {
    const found = this.#points.get(point) ?? new Map<string, unknown>()
    this.#points.set(point, found)
    return found
  }
}

const placeOf = (point: string, name: string) => `${point}\0${name}`
