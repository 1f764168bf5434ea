/**
 * A view of a map that callers cannot change. A `ReadonlyMap` is not enough, because JavaScript code can still call
 * `set`.
 */
export class MapView<T> implements ReadonlyMap<string, T> {
  readonly #map: ReadonlyMap<string, T>

  constructor(map: ReadonlyMap<string, T>) {
    this.#map = map
    Object.freeze(this)
  }

  get size(): number {
    return this.#map.size
  }

  readonly get = (name: string) => this.#map.get(name)
  readonly has = (name: string) => this.#map.has(name)
  readonly keys = () => this.#map.keys()
  readonly values = () => this.#map.values()
  readonly entries = () => this.#map.entries()
  readonly [Symbol.iterator] = () => this.#map.entries()
  readonly forEach = (visit: (value: T, name: string, map: ReadonlyMap<string, T>) => void) => {
    for (const [name, value] of this.#map) visit(value, name, this)
  }
}

/**
 * Returns a frozen object with the properties of `target` in `names` and the properties of `own`. Methods stay bound to
 * `target`. Its other properties are not accessible.
 */
export function createFrozenFacade<T extends object, N extends keyof T, O extends object>(
  target: T,
  names: readonly N[],
  own: O,
): Pick<T, N> & O {
  const read = (name: N) => {
    const member = target[name]
    return typeof member === 'function' ? member.bind(target) : member
  }
  const members = names.map((name) => [name, { enumerable: true, get: () => read(name) }])
  return Object.freeze(Object.defineProperties({ ...own }, Object.fromEntries(members))) as Pick<T, N> & O
}

const frozen = new WeakSet<object>()

/**
 * Freezes an object or a list with all its parts. Instances of classes, such as entities and regular expressions, are
 * not frozen.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || frozen.has(value)) return value
  const prototype = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value
  frozen.add(value)
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}

/**
 * Prevents other code from replacing the methods of an object. Its other properties stay writable, because a class may
 * store its state in them.
 */
export function lockMethods(given: unknown): void {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null) return
  for (const [name, { value, configurable }] of Object.entries(Object.getOwnPropertyDescriptors(given))) {
    if (typeof value === 'function' && configurable) Object.defineProperty(given, name, { writable: false })
  }
  Object.preventExtensions(given)
}
