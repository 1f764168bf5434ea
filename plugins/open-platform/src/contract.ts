import type { GuardHandler, RouteAnnotation } from '@plinth/http'
import { type LocalizedText, service } from '@plinth/kernel'

/** What an application may be granted. A new capability gets a scope of its own (C-050). */
export interface OpenScope {
  /** Colon-separated, for example `web3:wallet-signature:personal:verify`; 128 characters at most. */
  readonly code: string
  readonly displayName: LocalizedText
  readonly description?: LocalizedText
}

/** A scope and the plugin that declared it. */
export interface DeclaredScope extends OpenScope {
  readonly plugin: string
}

/** The scopes that applications can be granted. */
export interface OpenScopes {
  /**
   * Adds a scope, during set-up. A plugin that also works without the open platform requires this service as optional: its
   * signed routes are closed then.
   *
   * @param plugin id of the declaring plugin
   * @throws PlinthError `PLINTH_OPEN_PLATFORM_SCOPE` when the code is malformed or was declared before
   */
  declare(plugin: string, scope: OpenScope): void
  /** In order of their codes. */
  readonly all: readonly DeclaredScope[]
}

export const openScopes = service<OpenScopes>('open-platform.scopes', { from: '@plinth/open-platform' })

/** What a signed request needs and costs. */
export interface OpenApi {
  /** Declared scopes; the application must hold all of them. None: any active application may call. */
  readonly scopes: readonly string[]
  /** Units of the quota that one call takes, default 1. Also written into its metering record. */
  readonly cost?: number
  /** Limiter store of high-cost calls, for example `shared-bucket`; the default store when absent. */
  readonly store?: string
}

export const openApiAnnotation = 'open-platform.open-api'

/**
 * Opens a route to signed requests: `access: 'signed', annotations: [openApi({ scopes: ['shop:order:read'] })]`. A wrong
 * declaration stops the start (`PLINTH_OPEN_PLATFORM_ROUTE`).
 */
export function openApi(rule: OpenApi): RouteAnnotation<OpenApi> {
  return { id: openApiAnnotation, value: rule }
}

/** The application that signed a request, as it stood when the signature was checked. */
export interface OpenCaller {
  readonly appId: number
  readonly appKey: string
  readonly name: string
  readonly scopes: ReadonlySet<string>
  /** Own limit; null: the default counts; 0 or negative: unlimited (document 1, "Open-platform limiter"). */
  readonly rateLimitPerMinute: number | null
  /** User who answers for the application. */
  readonly ownerUserId: number | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who signed the request; `undefined` on all routes that are not `signed`. */
    openCaller: OpenCaller | undefined
  }
}

/** A request of the HTTP server, as guards see it. */
export type GuardedRequest = Parameters<GuardHandler>[0]
/** Its answer. */
export type GuardedReply = Parameters<GuardHandler>[1]
