/**
 * Typed references. They are compared by id, never by object identity, so that two copies of a package work together.
 */

import type { Shape } from './shapes/shape.ts'

/** A type that only the declaration of its author knows and checks. */
// biome-ignore lint/suspicious/noExplicitAny: references of all kinds are in one list, with opposite variance
export type Unchecked = any

interface Ref<Kind extends string, T> {
  readonly kind: Kind
  readonly id: string
  /** Package that usually provides it, only for messages about a missing package. */
  readonly from?: string
  /** Contains the referenced type for the compiler. The property is never set. */
  readonly '~type'?: (value: T) => T
}

/** The type of a reference. */
export type TypeOf<Reference> = Reference extends Ref<string, infer T> ? T : never

/** A service that exactly one loaded plugin provides. */
export type ServiceRef<T> = Ref<'service', T>

/**
 * A named place where plugins contribute implementations of one contract. Exactly one loaded plugin (or the kernel)
 * owns it.
 */
export interface ExtensionPoint<T> extends Ref<'extension-point', T> {
  /**
   * True if the owner reads it at use: contributors may require the owner, because the start order does not depend on
   * it.
   */
  readonly live?: boolean
  /** Rule for the names of contributions. */
  readonly names?: Shape
  /** Rule for the contributions themselves, checked when they are contributed. */
  readonly shape?: Shape
  /** Path of the property of a contribution that equals its name, such as `id`. */
  readonly namedBy?: string
}

/** A service or an extension point that a plugin uses only if a loaded plugin declares it. */
export interface Optional<Reference> {
  readonly kind: 'optional'
  readonly ref: Reference
}
export type OptionalRef<T> = Optional<ServiceRef<T>>

/** Returns the reference of a required or optional need. */
export const refOf = <Reference extends { readonly kind: string }>(need: Reference | Optional<Reference>): Reference =>
  isOptional(need) ? need.ref : need

const isOptional = <Reference extends { readonly kind: string }>(
  need: Reference | Optional<Reference>,
): need is Optional<Reference> => need.kind === 'optional'

export type Requirement = ServiceRef<Unchecked> | OptionalRef<Unchecked>
export type Requirements = { readonly [name: string]: Requirement }

/** The value for each requirement: the service, or `undefined` for an optional one that is absent. */
export type ServicesOf<R extends Requirements> = {
  readonly [N in keyof R]: InjectedType<R[N]>
}

type InjectedType<Need> = Need extends Optional<infer Reference> ? TypeOf<Reference> | undefined : TypeOf<Need>

/** References a service: `export const http = service<HttpServer>('http')`. */
export function service<T>(id: string, options: { readonly from?: string } = {}): ServiceRef<T> {
  return Object.freeze({ kind: 'service', id, ...options })
}

/**
 * References an extension point: `export const notificationChannel = extensionPoint<NotificationChannel>('notification.channel')`.
 * Contributors are set up before its owner, which then sees all contributions. With `live` they are set up in any order,
 * and the owner reads them at use, after setup. A contribution that violates the rules in `names`, `shape` and `namedBy`
 * ends the start with `PLINTH_CONTRIBUTION_INVALID`.
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
  return Object.freeze({ kind: 'extension-point', id, ...options })
}

/** The plugin that uses a service, as passed to its provider. */
export interface Consumer {
  readonly id: string
  readonly version: string
}

/**
 * Marks a requirement or a contribution as optional. Without the service the plugin receives `undefined`; without the
 * owner of the extension point the contribution has no effect.
 */
export function optional<Reference extends ServiceRef<Unchecked> | ExtensionPoint<Unchecked>>(
  ref: Reference,
): Optional<Reference> {
  return Object.freeze({ kind: 'optional', ref })
}
