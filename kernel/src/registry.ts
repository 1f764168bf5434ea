// The browser build: the Node.js build loads a file search that is not needed here, half of its load time and 10 MB.
import { type AwilixContainer, asFunction, asValue, createContainer } from 'awilix/browser'
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
import { assertContribution } from './shapes/declaration-shapes.ts'

/**
 * Registration of the plugin that requires a service, in its scope. A symbol, because no service can have it as its id.
 */
const consumerName = Symbol('consumer')

interface ServiceCradle {
  readonly [consumerName]: Consumer
}

/**
 * The services and contributions of one product. A service is a scoped registration of awilix and each consumer has a
 * scope, so a provider creates one implementation per consumer. awilix disposes all registrations at the same time.
 * Therefore registrations have no disposers: the kernel stops the plugins in order.
 */
export class Registry {
  readonly #services = createContainer<ServiceCradle>({ strict: true })
  readonly #scopes = new Map<string, AwilixContainer<ServiceCradle>>()
  readonly #points = new Map<string, Map<string, unknown>>()
  readonly #contributors = new Map<string, string>()
  /** Extension points as their owners declare them. */
  readonly #declared: ReadonlyMap<string, ExtensionPoint<Unchecked>>

  constructor(points: readonly ExtensionPoint<Unchecked>[]) {
    this.#declared = new Map(points.map((point) => [point.id, point]))
  }

  /**
   * In awilix the last registration silently replaces earlier ones; here a second one is an error.
   *
   * @param implementationFor returns the implementation for a consumer; called once per consumer
   */
  provide<T>(plugin: string, { id }: ServiceRef<T>, implementationFor: (consumer: Consumer) => T): void {
    if (this.provides(id)) throw kernelError('PLINTH_SERVICE_PROVIDED_TWICE', { plugin, service: id })
    const create = ({ [consumerName]: consumer }: ServiceCradle) => implementationFor(consumer)
    this.#services.register(id, asFunction(create).scoped())
  }

  provides(service: string): boolean {
    return this.#services.hasRegistration(service)
  }

  service<T>({ id, from = 'a plugin that provides it' }: ServiceRef<T>, consumer: Consumer): T {
    if (this.provides(id)) return this.#scopeOf(consumer).resolve<T>(id)
    throw kernelError('PLINTH_SERVICE_UNKNOWN', { service: id, provider: from })
  }

  /** Returns the services of a plugin by the names that it declared; an absent optional one is `undefined`. */
  servicesOf(requirements: Requirements, consumer: Consumer): Readonly<Record<string, unknown>> {
    const given = Object.entries(requirements).map(([name, requirement]) => {
      const ref = refOf(requirement)
      const isAbsent = requirement.kind === 'optional' && !this.provides(ref.id)
      return [name, isAbsent ? undefined : this.service(ref, consumer)]
    })
    return Object.freeze(Object.fromEntries(given))
  }

  /** @throws PlinthError `PLINTH_CONTRIBUTION_INVALID`, `PLINTH_CONTRIBUTION_DUPLICATE` */
  contribute(plugin: string, ref: ExtensionPoint<Unchecked>, name: string, implementation: unknown): void {
    const { id: point } = ref
    assertContribution(plugin, this.#declared.get(point) ?? ref, name, implementation)
    const place = placeOf(point, name)
    const other = this.#contributors.get(place)
    if (other !== undefined) throw kernelError('PLINTH_CONTRIBUTION_DUPLICATE', { plugin, name, point, other })
    this.#contributors.set(place, plugin)
    lockMethods(implementation)
    this.#at(point).set(name, implementation)
  }

  /** Returns a live view, by name. */
  contributions<T>(point: ExtensionPoint<T>): ReadonlyMap<string, T> {
    return new MapView(this.#at(point.id) as Map<string, T>)
  }

  /** Returns the id of the plugin that contributed it. */
  contributor({ id: point }: ExtensionPoint<Unchecked>, name: string): string | undefined {
    return this.#contributors.get(placeOf(point, name))
  }

  #scopeOf(consumer: Consumer): AwilixContainer<ServiceCradle> {
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
