import { type AwilixContainer, AwilixResolutionError, isClass } from 'awilix/browser'
import { isPlinthError, reasonOf } from './errors/coded-error.ts'
import { kernelError } from './errors/kernel-errors.ts'

/** Makes one part of a plugin: a class whose constructor takes the parts that it needs as one object, or a function of them. */
export type Maker<Part, Parts> = (new (parts: Parts) => Part) | ((parts: Parts) => Part)

/** A maker for each part that is not given. */
export type Makers<Parts, Given> = {
  readonly [Name in Exclude<keyof Parts, keyof Given>]: Maker<Parts[Name], Parts>
}

/**
 * Makes the parts of one plugin in a scope of its own. A maker receives the object that is returned in the end, and may keep
 * it: awilix's cradle would look each part up again whenever it is used.
 */
export function makeParts<Parts>(scope: AwilixContainer, given: object, makers: object): Parts {
  const parts: Record<string, unknown> = { ...given }
  const path: string[] = []
  for (const [name, make] of Object.entries(makers)) {
    const resolve = () => {
      const depth = path.push(name)
      const part: unknown = isClass(make) ? new make(parts) : make(parts)
      path.length = depth - 1
      return part
    }
    scope.register(name, { resolve, lifetime: 'SCOPED' })
    Object.defineProperty(parts, name, { get: () => scope.resolve(name), enumerable: true, configurable: true })
  }
  try {
    for (const name of Object.keys(makers)) Object.defineProperty(parts, name, { value: parts[name] })
  } catch (error) {
    if (isPlinthError(error)) throw error
    if (error instanceof AwilixResolutionError) {
      throw kernelError('PLINTH_PARTS_CIRCLE', { path: error.message.split('Resolution path: ').at(-1) ?? '' }, error)
    }
    throw kernelError('PLINTH_PART_FAILED', { path: path.join(' -> '), reason: reasonOf(error) }, error)
  }
  return Object.freeze(parts) as Parts
}
