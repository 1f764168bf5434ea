import { kernelError } from './errors.ts'
import type { ExtensionPoint } from './refs.ts'

/** Everything that plugins hung on extension points, by point and name. */
export class ExtensionRegistry {
  readonly #points = new Map<string, Map<string, unknown>>()
  readonly #contributors = new Map<string, string>()

  add(point: string, name: string, plugin: string, implementation: unknown): void {
    const slot = `${point}\0${name}`
    const other = this.#contributors.get(slot)
    if (other !== undefined) throw kernelError('PLINTH_CONTRIBUTION_DUPLICATE', { plugin, name, point, other })
    this.#contributors.set(slot, plugin)
    this.#at(point).set(name, implementation)
  }

  /** Live view, by name. */
  of<T>(point: ExtensionPoint<T>): ReadonlyMap<string, T> {
    return this.#at(point.id) as Map<string, T>
  }

  #at(point: string): Map<string, unknown> {
    const existing = this.#points.get(point)
    if (existing !== undefined) return existing
    const created = new Map<string, unknown>()
    this.#points.set(point, created)
    return created
  }
}
