// The browser build of awilix starts twice as fast and needs 10 MB less memory: the Node.js build also loads a file
// search that is not used here.
import { type AwilixContainer, asFunction, asValue, createContainer } from 'awilix/browser'
import { assertContribution } from './contracts/declaration-shapes.ts'
import { kernelError } from './errors/kernel-errors.ts'
import { lockMethods, MapView } from './read-only.ts'
import {
  type AnyReferenceType,
  type ConsumingPlugin,
  type ExtensionPoint,
  type Requirements,
  type ServiceRef,
  unwrapOptional,
} from './refs.ts'

/**
 * Name under which the awilix scope of a plugin stores the plugin itself. A symbol cannot equal the id of a service.
 */
const consumerName = Symbol('consumer')

interface ServiceCradle {
  readonly [consumerName]: ConsumingPlugin
}

/**
 * The services and contributions of one product. Each consumer has a scope of awilix, so that a provider can create a
 * separate implementation for each consumer. Registrations have no disposers, because awilix would run all of them at
 * the same time. The kernel stops the plugins in order instead.
 */
export class Registry {
  readonly #services = createContainer<ServiceCradle>({ strict: true })
  readonly #scopes = new Map<string, AwilixContainer<ServiceCradle>>()
  readonly #points = new Map<string, Map<string, unknown>>()
  readonly #contributors = new Map<string, string>()
  /** Extension points as declared by their owners. */
  readonly #declared: ReadonlyMap<string, ExtensionPoint<AnyReferenceType>>

  constructor(points: readonly ExtensionPoint<AnyReferenceType>[]) {
    this.#declared = new Map(points.map((point) => [point.id, point]))
  }

  /**
   * Registers the implementation of a service. awilix would silently replace an earlier registration, so a second one
   * is rejected here.
   *
   * @param implementationFor returns the implementation for a consumer; called once for each consumer
   */
  provide<T>(plugin: string, { id }: ServiceRef<T>, implementationFor: (consumer: ConsumingPlugin) => T): void {
    if (this.provides(id)) throw kernelError('PLINTH_SERVICE_PROVIDED_TWICE', { plugin, service: id })
    const create = ({ [consumerName]: consumer }: ServiceCradle) => implementationFor(consumer)
    this.#services.register(id, asFunction(create).scoped())
  }

  provides(service: string): boolean {
    return this.#services.hasRegistration(service)
  }

  service<T>({ id, from = 'a plugin that provides it' }: ServiceRef<T>, consumer: ConsumingPlugin): T {
    if (this.provides(id)) return this.#scopeOf(consumer).resolve<T>(id)
    throw kernelError('PLINTH_SERVICE_UNKNOWN', { service: id, provider: from })
  }

  /**
   * Returns the services of a plugin by the names in its `requires`. An optional service that is not loaded is
   * `undefined`.
   */
  servicesOf(requirements: Requirements, consumer: ConsumingPlugin): Readonly<Record<string, unknown>> {
    const given = Object.entries(requirements).map(([name, requirement]) => {
      const ref = unwrapOptional(requirement)
      const isAbsent = requirement.kind === 'optional' && !this.provides(ref.id)
      return [name, isAbsent ? undefined : this.service(ref, consumer)]
    })
    return Object.freeze(Object.fromEntries(given))
  }

  /** @throws PlinthError `PLINTH_CONTRIBUTION_INVALID`, `PLINTH_CONTRIBUTION_DUPLICATE` */
  contribute(plugin: string, ref: ExtensionPoint<AnyReferenceType>, name: string, implementation: unknown): void {
    const { id: point } = ref
    assertContribution(plugin, this.#declared.get(point) ?? ref, name, implementation)
    const place = placeOf(point, name)
    const other = this.#contributors.get(place)
    if (other !== undefined) throw kernelError('PLINTH_CONTRIBUTION_DUPLICATE', { plugin, name, point, other })
    this.#contributors.set(place, plugin)
    lockMethods(implementation)
    this.#at(point).set(name, implementation)
  }

  /** Returns a view of the contributions, by name. It also shows contributions that are added later. */
  contributions<T>(point: ExtensionPoint<T>): ReadonlyMap<string, T> {
    return new MapView(this.#at(point.id) as Map<string, T>)
  }

  contributor({ id: point }: ExtensionPoint<AnyReferenceType>, name: string): string | undefined {
    return this.#contributors.get(placeOf(point, name))
  }

  #scopeOf(consumer: ConsumingPlugin): AwilixContainer<ServiceCradle> {
    const found = this.#scopes.get(consumer.id) ?? this.#services.createScope()
    if (!this.#scopes.has(consumer.id)) {
      this.#scopes.set(consumer.id, found.register(consumerName, asValue(consumer)))
    }
    return found
  }

  #at(point: string): Map<string, unknown> {
    const found = this.#points.get(point) ?? new Map<string, unknown>()
    this.#points.set(point, found)
    return found
  }
}

const placeOf = (point: string, name: string) => `${point}\0${name}`
