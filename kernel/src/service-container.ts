// The build for browsers: the one for Node.js loads a file searcher that nothing here needs, half of its start and 10 MB.
import { type AwilixContainer, aliasTo, asValue, createContainer } from 'awilix/browser'
import { kernelError } from './errors.ts'
import type { Requirements, ServiceRef } from './refs.ts'

/**
 * The singletons of one product: one awilix container, one scope per plugin that sees only what the plugin requires.
 * Order and disposal are the kernel's: awilix would dispose everything at once.
 */
export class ServiceContainer {
  readonly #root: AwilixContainer = createContainer({ strict: true })

  /** awilix lets the last registration win silently; here a second one is an error. */
  register(plugin: string, id: string, implementation: unknown): void {
    if (this.#root.hasRegistration(id)) throw kernelError('PLINTH_SERVICE_PROVIDED_TWICE', { plugin, service: id })
    this.#root.register(id, asValue(implementation))
  }

  has(id: string): boolean {
    return this.#root.hasRegistration(id)
  }

  resolve<T>(ref: ServiceRef<T>): T {
    if (this.has(ref.id)) return this.#root.resolve<T>(ref.id)
    throw kernelError('PLINTH_SERVICE_UNKNOWN', { service: ref.id, provider: ref.from ?? 'a plugin that provides it' })
  }

  /** The services of a plugin by the names that it gave them; an absent optional one is `undefined`. */
  servicesOf(requirements: Requirements): Record<string, unknown> {
    const scope = this.#root.createScope()
    const services: Record<string, unknown> = {}
    for (const [name, requirement] of Object.entries(requirements)) {
      const { id } = requirement.kind === 'optional' ? requirement.ref : requirement
      if (requirement.kind === 'optional' && !this.has(id)) {
        services[name] = undefined
        continue
      }
      if (name !== id) scope.register(name, aliasTo(id))
      services[name] = scope.resolve(name)
    }
    return Object.freeze(services)
  }
}
