import type { AnyReferenceType, ExtensionPoint, Optional } from '../refs.ts'

/** An extension point in `contributes`. */
type Contributable = ExtensionPoint<AnyReferenceType> | Optional<ExtensionPoint<AnyReferenceType>>

/**
 * Contributions of a plugin to one extension point, or a function that returns them and receives the services of the
 * plugin. In a list, each contribution has the name in the property `namedBy` of the point. Otherwise they are listed by
 * name. The function returns `undefined` if there are none.
 */
export type Contributions<T, Services> = Listed<T> | ((services: Services) => Listed<T> | undefined)
type Listed<T> = readonly T[] | Readonly<Record<string, T>>

/** Contributions of a plugin, as part of an extension point in `contributes`. */
export interface DeclaredContributions<Services> {
  readonly values: (services: never) => unknown
  /** Contains the services that `values` requires for the compiler. The property is never set. */
  readonly '~services'?: (services: Services) => void
}

type Requiring<Services> = ExtensionPoint<AnyReferenceType> &
  Pick<Partial<DeclaredContributions<Services>>, '~services'>
/** An entry of `contributes` that requires at most the given services. */
export type ContributionFrom<Services> = Requiring<Services> | Optional<Requiring<Services>>

/** The reference in an entry of `contributes`, `provides` or `extensionPoints`. */
export type ReferenceIn<Entry> =
  Entry extends Optional<infer Reference>
    ? ReferenceIn<Reference>
    : Entry extends ExtensionPoint<infer T>
      ? ExtensionPoint<T>
      : Entry

/** Returns a copy of an extension point with contributions. They are in a function, so that they are not frozen. */
export const declare = <T, Services>(
  point: ExtensionPoint<T>,
  values: Contributions<T, Services>,
): ExtensionPoint<T> & DeclaredContributions<Services> => ({
  ...point,
  values: typeof values === 'object' ? () => values : values,
})

/**
 * Returns the contributions that the entries of `contributes` declare.
 *
 * @param services services of the plugin, by the names in its `requires`
 */
export function* declaredContributions(
  entries: readonly Contributable[],
  services: object,
): Generator<readonly [point: ExtensionPoint<AnyReferenceType>, name: string, value: unknown]> {
  for (const entry of entries) {
    const point: ExtensionPoint<AnyReferenceType> & Partial<DeclaredContributions<never>> =
      entry.kind === 'optional' ? entry.ref : entry
    const values = point.values?.(services as never)
    for (const [name, value] of Object.entries(values ?? {})) {
      yield [point, Array.isArray(values) ? (memberAt(value, point.namedBy ?? '') as string) : name, value]
    }
  }
}

/** Returns a property of an object by its path, such as `provider.code`. */
export const memberAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((part, step) => Object(part)[step], value)
