import {
  type HttpReply,
  ignoreMembers,
  type RequestSchemas,
  type Route,
  type RouteRequest,
  rateLimited,
  routesWith,
  Type,
} from '@plinth/http'
import type { Static, TSchema } from 'typebox'
import type { Caller } from '../entry/caller.ts'
import { type EntryAttempt, type EntryGate, entryRejectedError } from '../entry/entry-gate.ts'
import { concernsOnlyCaller, type EntryPolicy } from '../entry/entry-policy.ts'
import type { InstallServices } from '../requires.ts'
import type { Translate } from '../texts.ts'
import type { InstallStatus } from './install-status.ts'
import type { WizardService } from './wizard-service.ts'

export type WizardRouteDependencies = Pick<InstallServices, 'kernel'> & {
  readonly gate: EntryGate
  readonly entry: EntryPolicy
  readonly wizard: WizardService
  readonly status: InstallStatus
  readonly translate: Translate
}

interface Refused<S extends RequestSchemas> {
  readonly message: string
  readonly caller: Caller
  readonly request: RouteRequest<S>
  readonly status: InstallStatus
}

interface GuardedRoute<S extends RequestSchemas, R extends TSchema> {
  readonly method: 'GET' | 'POST'
  /** Path relative to the root of the installer API. */
  readonly path: string
  readonly summary: string
  /** Whether the response may be compressed; see `RouteDeclaration` of @plinth/http. */
  readonly compress?: boolean
  readonly request?: S
  readonly response: R
  /** Reason codes of errors that `handle` throws. */
  readonly reasons?: readonly string[]
  /** Returns the response for a rejected caller (decision B54). If absent, a rejection is an error. */
  readonly refused?: (refused: Refused<S>) => Static<R> | Promise<Static<R>>
  /** Returns `undefined` if the installer was closed in the meantime. */
  handle(
    request: RouteRequest<S>,
    parts: WizardRouteDependencies & { readonly caller: Caller },
    reply: HttpReply,
  ): Promise<Static<R> | undefined>
}

const { route } = routesWith<WizardRouteDependencies>()

/** Properties of all installer routes. A page that polls stays far below the rate limit. */
export const commonRouteProperties = {
  tags: ['install'],
  annotations: [
    rateLimited({ maxAttempts: 300, windowSeconds: 60, keyStrategy: 'IP_ROUTE', failurePolicy: 'insurance' }),
  ],
  access: 'public',
} as const

export const installApiRoot = '/api/v1/install'

export const checkReasons = ['install.token.too-many-failures']
const rejectionReasons = ['install.token.invalid', 'install.token.not-allowed']

/** Returns what this caller can do to get access, or an empty text. */
export const accessHintFor = ({ caller, verdict: { closed } }: EntryAttempt, translate: Translate) =>
  closed === undefined || !concernsOnlyCaller(closed) ? '' : translate(caller.locale, `entry.closed.${closed}`)

/**
 * The token is only accepted in the header (document 3 of the specification, "Authentication" 1). Fields with these
 * names in the query or body are ignored.
 */
const tokenNames = ['token', 'x-install-token']
const withoutToken = <S extends RequestSchemas>(method: 'GET' | 'POST', request: S | undefined) => {
  // A write that declares no query parameters would reject these names too.
  const parts = { ...(method === 'POST' ? { query: Type.Object({}) } : {}), ...request }
  const ignoring: RequestSchemas = Object.fromEntries(
    Object.entries(parts).map(([part, schema]) => [part, ignoreMembers(schema, tokenNames)]),
  )
  return ignoring as S
}

/** Declares a route that checks access for each request. */
export function installerRoute<const S extends RequestSchemas = Record<never, never>, R extends TSchema = TSchema>({
  method,
  path,
  refused,
  request,
  reasons = [],
  handle,
  ...declaration
}: GuardedRoute<S, R>): Route<WizardRouteDependencies> {
  return route<S, R>({
    ...declaration,
    ...commonRouteProperties,
    method,
    request: withoutToken(method, request),
    path: `${installApiRoot}/${path}`,
    reasons: [...checkReasons, ...(refused === undefined ? rejectionReasons : []), ...reasons],
    async handler(request, parts, reply) {
      const entered = await parts.gate.enter(request, reply)
      const { caller, verdict } = entered
      const response = verdict.authorized ? await handle(request, { ...parts, caller }, reply) : undefined
      if (response !== undefined) return response
      const { translate, status } = parts
      const message = accessHintFor(entered, translate) || translate(caller.locale, 'entry.refused')
      if (refused !== undefined) return refused({ message, caller, request, status })
      throw entryRejectedError(verdict.authorized ? 'install.token.not-allowed' : verdict.reason, verdict.closed)
    },
  })
}
