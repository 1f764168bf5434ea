import type { GuardHandler, RouteAnnotation } from '@plinth/http'
import { type LocalizedText, service } from '@plinth/kernel'

/** A capability that an application may be granted. Each new capability gets its own scope (C-050). */
export interface OpenScope {
  /** Colon-separated, for example `web3:wallet-signature:personal:verify`; at most 128 characters. */
  readonly code: string
  readonly displayName: LocalizedText
  readonly description?: LocalizedText
}

/** A scope and the plugin that declared it. */
export interface DeclaredScope extends OpenScope {
  readonly plugin: string
}

/** The scopes that applications may be granted. */
export interface OpenScopes {
  /**
   * Adds a scope during setup. A plugin that also works without the open platform requires this service as optional.
   * Its signed routes are then closed.
   * @param plugin id of the declaring plugin
   * @throws PlinthError `PLINTH_OPEN_PLATFORM_SCOPE` if the code is malformed or already declared
   */
  declare(plugin: string, scope: OpenScope): void
  /** Sorted by code. */
  readonly all: readonly DeclaredScope[]
}

export const openScopes = service<OpenScopes>('open-platform.scopes', { from: '@plinth/open-platform' })

/** Requirements and cost of a signed request. */
export interface OpenApi {
  /** Declared scopes, all of which the application needs. Empty: any active application may call. */
  readonly scopes: readonly string[]
  /** Quota units of one call, default 1. Also stored in its metering record. */
  readonly cost?: number
  /** Rate limit store of expensive calls, for example `shared-bucket`; default: the default store. */
  readonly store?: string
}

export const openApiAnnotation = 'open-platform.open-api'

/**
 * Opens a route to signed requests: `access: 'signed', annotations: [openApi({ scopes: ['shop:order:read'] })]`. An
 * invalid declaration stops the start (`PLINTH_OPEN_PLATFORM_ROUTE`).
 */
export function openApi(rule: OpenApi): RouteAnnotation<OpenApi> {
  return { id: openApiAnnotation, value: rule }
}

/** The application that signed a request, as stored when the signature was checked. */
export interface OpenCaller {
  readonly appId: number
  readonly appKey: string
  readonly name: string
  readonly scopes: ReadonlySet<string>
  /**
   * Limit of the application. Null: the default applies; 0 or negative: unlimited (document 1, "Open-platform
   * limiter").
   */
  readonly rateLimitPerMinute: number | null
  /** User who is responsible for the application. */
  readonly ownerUserId: number | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The application that signed the request; only set on `signed` routes. */
    openCaller: OpenCaller | undefined
  }
}

/** A request of the HTTP server, as guards see it. */
export type GuardedRequest = Parameters<GuardHandler>[0]
/** Its response. */
export type GuardedReply = Parameters<GuardHandler>[1]
