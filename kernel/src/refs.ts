/**
 * Typed references to services and extension points. References are compared by id, not by object identity, so that two
 * copies of a package work together.
 */

import type { Shape } from '@plinth/config-schema/shapes'
import { type Contributions, type DeclaredContributions, declare } from './contracts/contributions.ts'

/** A type that only the author of a reference knows. The compiler checks it where the reference is declared. */
// biome-ignore lint/suspicious/noExplicitAny: references of all kinds are in one list, with opposite variance
export type AnyReferenceType = any

interface Ref<Kind extends string, T> {
  readonly kind: Kind
  readonly id: string
  /**
   * Package that usually provides the service or owns the extension point. Only used in messages about a missing
   * package.
   */
  readonly from?: string
  /** Contains the referenced type for the compiler. The property is never set. */
  readonly '~type'?: (value: T) => T
}

/** The type of the service or of the contributions that a reference stands for. */
export type TypeOf<Reference> = Reference extends Ref<string, infer T> ? T : never

/** A reference to a service. Exactly one loaded plugin provides it. */
export type ServiceRef<T> = Ref<'service', T>

/** A place where plugins can add implementations of one contract. One loaded plugin, or the kernel, owns it. */
export interface ExtensionPoint<T> extends Ref<'extension-point', T> {
  /**
   * If true, contributing plugins may be set up before or after the owner. The owner reads the contributions when it
   * uses them.
   */
  readonly live?: boolean
  /** Rule for the names of the contributions. */
  readonly names?: Shape
  /** Rule for the contributions, checked when they are added. */
  readonly shape?: Shape
  /** Path of the property, such as `id`, that must equal the name of the contribution. */
  readonly namedBy?: string
  /**
   * Declares contributions, for `contributes` of a plugin. The kernel adds them before `setup` runs. Contributions that
   * depend on the setup are added there with `context.contribute`.
   *
   * @example contributes: [
   *   notificationChannel.of({ 'acme-chat': channel }),
   *   quickstartCleanup.of(({ database }: WithDatabase) => ({ acme: cleanupOf(database) })),
   * ]
   */
  of<Services = unknown>(values: Contributions<T, Services>): ExtensionPoint<T> & DeclaredContributions<Services>
}

/** A reference that a plugin uses only if a loaded plugin provides the service or owns the extension point. */
export interface Optional<Reference> {
  readonly kind: 'optional'
  readonly ref: Reference
}
export type OptionalRef<T> = Optional<ServiceRef<T>>

/** Returns the reference itself, without the wrapper that `optional` creates. */
export const unwrapOptional = <Reference extends { readonly kind: string }>(
  need: Reference | Optional<Reference>,
): Reference => (isOptional(need) ? need.ref : need)

const isOptional = <Reference extends { readonly kind: string }>(
  need: Reference | Optional<Reference>,
): need is Optional<Reference> => need.kind === 'optional'

export type Requirement = ServiceRef<AnyReferenceType> | OptionalRef<AnyReferenceType>
export type Requirements = { readonly [name: string]: Requirement }

/** The services for the requirements of a plugin. An optional service that is not loaded is `undefined`. */
export type ServicesOf<R extends Requirements> = {
  readonly [N in keyof R]: InjectedType<R[N]>
}

type InjectedType<Need> = Need extends Optional<infer Reference> ? TypeOf<Reference> | undefined : TypeOf<Need>

/** Creates a reference to a service: `export const http = service<HttpServer>('http')`. */
export function service<T>(id: string, options: { readonly from?: string } = {}): ServiceRef<T> {
  return Object.freeze({ kind: 'service', id, ...options })
}

/**
 * Creates a reference to an extension point. Contributing plugins are set up before its owner, so the owner sees all
 * contributions in its setup. With `live`, they are set up in any order, and the owner reads the contributions after
 * setup. A contribution that violates `names`, `shape` or `namedBy` stops the start with `PLINTH_CONTRIBUTION_INVALID`.
 *
 * @example
 * export const courier = extensionPoint<Courier>('acme.courier', {
 *   from: '@acme/couriers',
 *   names: shape.kebab,
 *   shape: shape.object<Courier>({ displayName: shape.localized, book: shape.function }, { cancel: shape.function }),
 * })
 */
export function extensionPoint<T>(
  id: string,
  options: Pick<ExtensionPoint<T>, 'from' | 'live' | 'names' | 'shape' | 'namedBy'> = {},
): ExtensionPoint<T> {
  const point: ExtensionPoint<T> = { kind: 'extension-point', id, ...options, of: (values) => declare(point, values) }
  return Object.freeze(point)
}

/** The plugin that uses a service. The provider of the service receives this object. */
export interface ConsumingPlugin {
  readonly id: string
  readonly version: string
}

/**
 * Marks a requirement or a contribution as optional. If no plugin provides the service, the requiring plugin receives
 * `undefined`. If no plugin owns the extension point, the contribution has no effect.
 */
export function optional<Reference extends ServiceRef<AnyReferenceType> | ExtensionPoint<AnyReferenceType>>(
  ref: Reference,
): Optional<Reference> {
  return Object.freeze({ kind: 'optional', ref })
}
