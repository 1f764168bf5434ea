import type { GuardHandler, RouteAnnotation } from '@plinth/http'
import { type LocalizedText, service } from '@plinth/kernel'

/** A capability that an application may use. Each capability has its own scope (requirement C-050). */
export interface OpenScope {
  /** Words joined by colons, for example `web3:wallet-signature:personal:verify`; at most 128 characters. */
  readonly code: string
  readonly displayName: LocalizedText
  readonly description?: LocalizedText
}

/** A scope and the plugin that declared it. */
export interface DeclaredScope extends OpenScope {
  readonly plugin: string
}

/** The scopes that applications may get. */
export interface OpenScopes {
  /**
   * Declares a scope during setup. A plugin that also works without the open platform requires this service as
   * optional. Without it, the signed routes of the plugin are closed.
   *
   * @param plugin id of the declaring plugin
   * @throws PlinthError `PLINTH_OPEN_PLATFORM_SCOPE` if the code is malformed or already declared
   */
  declare(plugin: string, scope: OpenScope): void
  /** All declared scopes, sorted by code. */
  readonly all: readonly DeclaredScope[]
}

export const openScopes = service<OpenScopes>('open-platform.scopes', { from: '@plinth/open-platform' })

/** Requirements and cost of a signed request. */
export interface OpenApi {
  /** The application must have all these declared scopes. Empty: every active application may call. */
  readonly scopes: readonly string[]
  /** Quota units of one call, also stored in the usage record. Default: 1. */
  readonly cost?: number
  /**
   * Rate limit store for expensive calls, for example `shared-bucket` (requirement R-100). Default: the default store.
   */
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

/** The application that signed a request, as of the check of the signature. */
export interface OpenCaller {
  readonly appId: number
  readonly appKey: string
  readonly name: string
  readonly scopes: ReadonlySet<string>
  /**
   * Calls per minute. Null: the default limit applies. 0 or negative: unlimited (document 1 of the specification,
   * "Open-platform limiter").
   */
  readonly rateLimitPerMinute: number | null
  /** User who is responsible for the application. */
  readonly ownerUserId: number | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The application that signed the request. Only set on `signed` routes. */
    openCaller: OpenCaller | undefined
  }
}

/** A request, as guards of the HTTP server receive it. */
export type GuardedRequest = Parameters<GuardHandler>[0]
/** The response, as guards of the HTTP server receive it. */
export type GuardedReply = Parameters<GuardHandler>[1]
