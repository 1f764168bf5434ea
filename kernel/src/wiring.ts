// The browser build of awilix starts twice as fast and needs 10 MB less memory: the Node.js build also loads a file
// search that is not used here.
import * as awilix from 'awilix/browser'
import { errorReason, isPlinthError } from './errors/coded-error.ts'
import { kernelError } from './errors/kernel-errors.ts'

declare const cradle: unique symbol

/** An awilix resolver that also declares the type of its dependencies, so that the compiler checks them. */
export interface DependencyResolver<Part, in Parts> extends awilix.Resolver<Part> {
  readonly [cradle]?: (parts: Parts) => void
}

/** One resolver for each part that does not already exist. */
export type Resolvers<Parts, Given> = {
  readonly [Name in Exclude<keyof Parts, keyof Given>]: DependencyResolver<Parts[Name], Parts>
}

/** Returns a resolver for a class. The constructor receives all parts of the plugin as one object. */
export const asClass = <Part, Parts>(Type: new (parts: Parts) => Part): DependencyResolver<Part, Parts> =>
  awilix.asClass(Type).scoped()

/** Returns a resolver for a function. The function receives all parts of the plugin as one object. */
export const asFunction = <Part, Parts>(make: (parts: Parts) => Part): DependencyResolver<Part, Parts> =>
  awilix.asFunction(make).scoped()

/**
 * Creates the parts of one plugin in a separate awilix container. In a scope of the container of all services, a part
 * could use a service that its plugin did not declare. The parts receive a plain object that is frozen when all parts
 * exist. awilix would pass a proxy, which needs 0.3 µs instead of 0.06 µs for each read. Sending one message reads
 * about 15 parts.
 */
export function wireDependencies<Parts extends object>(given: object, resolvers: object): Parts {
  const container = awilix.createContainer<Parts>({ strict: true })
  const parts: object = { ...given }
  const injected: typeof container = Object.create(container, { cradle: { value: parts } })
  const path: string[] = []
  for (const [name, resolver] of Object.entries(resolvers as Record<string, awilix.Resolver<unknown>>)) {
    const resolve = () => {
      const length = path.push(name)
      const part = resolver.resolve(injected)
      path.length = length - 1
      return part
    }
    container.register(name, { ...resolver, resolve })
    Object.defineProperty(parts, name, { get: () => container.resolve(name), enumerable: true, configurable: true })
  }
  try {
    for (const name of Object.keys(resolvers)) Object.defineProperty(parts, name, { value: container.resolve(name) })
  } catch (error) {
    if (isPlinthError(error)) throw error
    if (error instanceof awilix.AwilixResolutionError) {
      throw kernelError('PLINTH_PARTS_CIRCLE', { path: error.message.split('Resolution path: ').at(-1) ?? '' }, error)
    }
    throw kernelError('PLINTH_PART_FAILED', { path: path.join(' -> '), reason: errorReason(error) }, error)
  }
  return Object.freeze(parts) as Parts
}
