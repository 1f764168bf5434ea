import { type HttpServer, type RouteGuard, type RouteInfo, routesWith, Type } from '@plinth/http'
import type { Clock } from '@plinth/kernel'
import { largestLimit } from '../config.ts'
import { type GuardedRequest, type OpenApi, type OpenCaller, openApi, openApiAnnotation } from '../contract.ts'
import { businessError, openPlatformError } from '../declarations.ts'
import type { ScopeRegistry } from '../scopes.ts'
import type { Authenticator, UsedNonces } from './authenticator.ts'
import {
  assertFresh,
  canonicalLines,
  canonicalRequest,
  readSignedHeaders,
  signatureHeaders,
  timestampToleranceMs,
} from './canonical-request.ts'

const callerMembers = {
  appKey: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String(), { description: 'Scopes of the application.' }),
}

const facts = (request: Parameters<typeof requireOpenCaller>[0]) => {
  const { appKey, name, scopes } = requireOpenCaller(request)
  return { appKey, name, scopes: [...scopes].sort() }
}
const shared = { access: 'signed', annotations: [openApi({ scopes: [] })] } as const

const { route } = routesWith()

/** Two routes without a scope, by which a third party can test its signature: one with a query, one with a body. */
export const signatureTestRoutes = [
  route({
    ...shared,
    method: 'GET',
    path: '/api/v1/open/whoami',
    summary: 'Get the application that signed this request',
    response: Type.Object(callerMembers),
    reasons: ['open-platform.header-missing'],
    handler: facts,
  }),
  route({
    ...shared,
    method: 'POST',
    path: '/api/v1/open/echo',
    summary: 'Return the message of a signed request',
    request: { body: Type.Object({ message: Type.String({ maxLength: 10_000 }) }) },
    response: Type.Object({ ...callerMembers, message: Type.String() }),
    reasons: ['open-platform.header-missing'],
    handler: (request) => ({ ...facts(request), message: request.body.message }),
  }),
]

interface SignatureDependencies {
  readonly authenticator: Authenticator
  readonly nonces: UsedNonces
  readonly clock: Pick<Clock, 'now'>
}

/** Returns the rule of a route for signed requests, or undefined. */
export const openApiOf = ({ annotations }: Pick<RouteInfo, 'annotations'>): OpenApi | undefined =>
  annotations.find(({ id }) => id === openApiAnnotation)?.value as OpenApi | undefined

/**
 * Returns the application that signed the request.
 *
 * @throws BusinessError "401" `open-platform.header-missing` on a route that is not signed
 */
export function requireOpenCaller({ openCaller }: Pick<GuardedRequest, 'openCaller'>): OpenCaller {
  if (openCaller !== undefined) return openCaller
  throw businessError('header-missing', { params: { headers: Object.values(signatureHeaders).join(', ') } })
}

/** Returns a guard that rejects missing or invalid headers and old timestamps before the body is read. */
export function headersGuard(clock: Pick<Clock, 'now'>): RouteGuard {
  return {
    name: 'open-platform.headers',
    stage: 'access',
    forRoute: (route) => openApiOf(route) && (({ headers }) => assertFresh(readSignedHeaders(headers), clock.now())),
  }
}

/**
 * Returns a guard that checks the headers, the timestamp, the application and its signature, the nonce, and the scopes.
 * It only reads the nonce; `quotaGuard` stores it when the request is served. So a rejected request stores nothing, and
 * a repeated request uses no quota.
 */
export function signatureGuard({ authenticator, nonces, clock }: SignatureDependencies): RouteGuard {
  return {
    name: 'open-platform.signature',
    stage: 'signature',
    forRoute(route) {
      const rule = openApiOf(route)
      if (rule === undefined) return undefined
      return async (request) => {
        const sent = readSignedHeaders(request.headers)
        // The timestamp is checked again, because receiving the body may have taken long.
        assertFresh(sent, clock.now())
        const canonical = canonicalRequest({
          method: request.method,
          // The HTTP server has removed the context path.
          target: request.raw.url ?? '',
          body: request.rawBody ?? new Uint8Array(),
          timestamp: sent.timestamp,
          nonce: sent.nonce,
        })
        if (canonical === undefined) throw businessError('query-malformed')
        const caller = await authenticator.callerOf(sent, canonical)
        await nonces.assertUnused(caller.appKey, sent.nonce)
        const missing = rule.scopes.filter((scope) => !caller.scopes.has(scope))
        if (missing.length > 0) {
          throw businessError('scope-missing', { params: { scopes: missing.join(', ') }, data: { scopes: missing } })
        }
        request.openCaller = caller
      }
    },
    security(route) {
      const rule = openApiOf(route)
      return rule && { schemes: securitySchemes, scopes: rule.scopes }
    },
  }
}

/** @throws PlinthError `PLINTH_OPEN_PLATFORM_ROUTE` with all problems of the route declarations */
export function assertRoutesOpenable(routes: HttpServer['routes'], scopes: ScopeRegistry): void {
  const problems = routes.flatMap((route) => {
    const rule = openApiOf(route)
    if (rule === undefined) return []
    const { cost = 1 } = rule
    const found = [
      ...(route.access === 'signed' ? [] : ['its access is not "signed"']),
      ...rule.scopes.filter((code) => !scopes.has(code)).map((code) => `scope "${code}" is declared by nobody`),
      ...(Number.isInteger(cost) && cost >= 1 && cost <= largestLimit ? [] : ['its cost is no whole number from 1']),
    ]
    return found.map((problem) => `${route.method} ${route.path} of plugin "${route.plugin}": ${problem}`)
  })
  if (problems.length > 0) throw openPlatformError('PLINTH_OPEN_PLATFORM_ROUTE', { routes: problems.join('; ') })
}

const header = (name: string, description: string) => ({ type: 'apiKey', in: 'header', name, description })

/** Security schemes of OpenAPI. A signed request needs all of them. */
const securitySchemes = {
  openAppKey: header(signatureHeaders.appKey, 'Key of the application.'),
  openTimestamp: header(
    signatureHeaders.timestamp,
    `Seconds since the epoch; at most ${timestampToleranceMs / 1000} s away from the clock of the server.`,
  ),
  openNonce: header(signatureHeaders.nonce, '16 to 64 letters, digits and `-._~`; never used twice.'),
  openSignature: {
    ...header(
      signatureHeaders.signature,
      'HMAC-SHA256 under the secret of the application, in lower-case hex, of these lines: method, path, sorted query, ' +
        'SHA-256 of the body in lower-case hex, timestamp, nonce. Sign on a server: the secret must never reach a browser or an app.',
    ),
    'x-canonical-string': canonicalLines,
  },
}
