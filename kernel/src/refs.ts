/**
 * Typed references. They are compared by id, never by object identity, so that two copies of a package still meet.
 */

import type { Shape } from './shapes/shape.ts'

/** Types that only the author's declaration knows and that are checked there. */
// biome-ignore lint/suspicious/noExplicitAny: references of all kinds meet in one list, and both uses vary in opposite ways
export type Unchecked = any

interface Ref<Kind extends string, T> {
  readonly kind: Kind
  readonly id: string
  /** Package that usually provides it: only used to say what to install. */
  readonly from?: string
  /** Phantom: the referenced type, and no wider or narrower one. Never set. */
  readonly '~type'?: (value: T) => T
}

/** What a reference stands for. */
export type TypeOf<Reference> = Reference extends Ref<string, infer T> ? T : never

/** A service that exactly one loaded plugin provides. */
export type ServiceRef<T> = Ref<'service', T>

/** A place to which plugins contribute named implementations of one contract. Exactly one loaded plugin (or the kernel) owns it. */
export interface ExtensionPoint<T> extends Ref<'extension-point', T> {
  /** True when the owner reads it at use: contributors may require the owner, because nobody waits for them. */
  readonly live?: boolean
  /** Rule for the names of contributions. */
  readonly names?: Shape
  /** Rule for the contributions themselves, checked when they are contributed. */
  readonly shape?: Shape
  /** Path of the member of a contribution that equals its name, such as `id`. */
  readonly namedBy?: string
}

/** A service that a plugin uses, or a point to which it contributes, when a loaded plugin has it. */
export interface Optional<Reference> {
  readonly kind: 'optional'
  readonly ref: Reference
}
export type OptionalRef<T> = Optional<ServiceRef<T>>

/** The reference itself, whether it is optional or not. */
export const refOf = <Reference extends { readonly kind: string }>(need: Reference | Optional<Reference>): Reference =>
  need.kind === 'optional' ? (need as Optional<Reference>).ref : (need as Reference)

export type Requirement = ServiceRef<Unchecked> | OptionalRef<Unchecked>
export type Requirements = { readonly [name: string]: Requirement }

/** What a plugin receives for its requirements: a required service, or `undefined` for an optional one that is absent. */
export type ServicesOf<R extends Requirements> = {
  readonly [N in keyof R]: Given<R[N]>
}

type Given<Required> = Required extends Optional<infer Reference> ? TypeOf<Reference> | undefined : TypeOf<Required>

/** References a service: `export const http = service<HttpServer>('http')`. */
export function service<T>(id: string, options: { readonly from?: string } = {}): ServiceRef<T> {
  return Object.freeze({ kind: 'service', id, ...options })
}

/**
 * References an extension point: `export const notificationChannel = extensionPoint<NotificationChannel>('notification.channel')`.
 * Contributors are set up before its owner, who then sees them all; with `live` they come in any order, and the owner
 * looks when it needs them, after set-up. A contribution that breaks the rules in `names`, `shape` and `namedBy` ends the
 * start with `PLINTH_CONTRIBUTION_INVALID`.
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

/** The plugin that uses a service, as its provider sees it. */
export interface Consumer {
  readonly id: string
  readonly version: string
}

/**
 * Marks a requirement or a contribution as optional. Without the service the plugin sees `undefined`; without the owner of
 * the point nobody reads what it contributes.
 */
export function optional<Reference extends ServiceRef<Unchecked> | ExtensionPoint<Unchecked>>(
  ref: Reference,
): Optional<Reference> {
  return Object.freeze({ kind: 'optional', ref })
}
