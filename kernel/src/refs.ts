/**
 * Typed references. They are compared by id, never by object identity, so that two copies of a package still meet.
 */

interface Ref<Kind extends string, T> {
  readonly kind: Kind
  readonly id: string
  /** Package that usually provides it: only used to say what to install. */
  readonly from?: string
  /** Phantom: the referenced type. Never set. */
  readonly '~type'?: T
}

/** A service that exactly one loaded plugin provides. */
export type ServiceRef<T> = Ref<'service', T>

/** A place where plugins hang named implementations of one contract. Exactly one loaded plugin (or the kernel) owns it. */
export type ExtensionPoint<T> = Ref<'extension-point', T>

/** A service that a plugin uses when it is there. */
export interface OptionalRef<T> {
  readonly kind: 'optional'
  readonly ref: ServiceRef<T>
}

export type Requirement = ServiceRef<unknown> | OptionalRef<unknown>
export type Requirements = { readonly [name: string]: Requirement }

/** What a plugin receives for its requirements: a required service, or `undefined` for an optional one that is absent. */
export type ServicesOf<R extends Requirements> = {
  readonly [N in keyof R]: R[N] extends OptionalRef<infer T>
    ? T | undefined
    : R[N] extends ServiceRef<infer T>
      ? T
      : never
}

/** References a service: `export const http = service<HttpServer>('http')`. */
export function service<T>(id: string, options: { readonly from?: string } = {}): ServiceRef<T> {
  return Object.freeze({ kind: 'service', id, ...options })
}

/** References an extension point: `export const notificationChannel = extensionPoint<NotificationChannel>('notification.channel')`. */
export function extensionPoint<T>(id: string, options: { readonly from?: string } = {}): ExtensionPoint<T> {
  return Object.freeze({ kind: 'extension-point', id, ...options })
}

/** Marks a requirement as optional: the plugin loads without it and sees `undefined`. */
export function optional<T>(ref: ServiceRef<T>): OptionalRef<T> {
  return Object.freeze({ kind: 'optional', ref })
}
