import type { Access, HttpReply, HttpServer, PermissionAccess, RouteGuard, RouteInfo } from '@plinth/http'
import { type Clock, omitUndefined } from '@plinth/kernel'
import { assertNoApiToken, audienceOf, isOpenToApiTokens } from '../api-tokens/route-access.ts'
import { isApiToken } from '../api-tokens/token-format.ts'
import type { GuardedRequest, Identity, Operator, Principal } from '../contract.ts'
import { businessError, iamError } from '../declarations.ts'
import {
  assertSameSitePage,
  clearAllCookies,
  cookieToken,
  hasAmbiguousCookie,
  hasSessionCookie,
  sessionCookie,
} from '../sessions/session-cookie.ts'
import { maxEpochAgeMs } from './authority.ts'

/**
 * True if the user has any permission. A user without permissions may be a stranger, because some sign-in methods
 * create accounts.
 */
export const isOperator = ({ isSuperAdmin, permissions }: Pick<Principal, 'isSuperAdmin' | 'permissions'>): boolean =>
  isSuperAdmin || permissions.size > 0

type Request = Pick<Operator, 'clientIp' | 'traceId'> & {
  readonly principal: Principal | undefined
  readonly reason?: string | undefined
}

/**
 * Returns the caller of a request, for use cases and the audit.
 *
 * @throws BusinessError "401" for a request without a principal
 */
export function operatorOf(request: Request): Operator {
  const { clientIp, traceId, reason } = request
  return omitUndefined({ principal: requirePrincipal(request), clientIp, traceId, reason })
}

/**
 * Returns the guards that check access. A `user` route requires a session, see `isOpenToApiTokens`. Every other
 * protected route requires a session or an API token with its permission. The token of an audience is only accepted by
 * the routes of this audience. The first check runs before the body is read.
 * If reading the body takes longer than cached permissions stay valid, a second check runs before the handler.
 */
export function accessGuards(
  identity: Pick<Identity, 'authenticate'>,
  clock: Pick<Clock, 'monotonic'>,
): readonly RouteGuard[] {
  const check = (request: GuardedRequest, rule: Rule, reply: Reply): void | Promise<void> => {
    const isBearer = request.headers.authorization !== undefined
    const principal = identity.authenticate(tokenOf(request, reply), isBearer ? request : undefined)
    if (principal instanceof Promise) return principal.then((checked) => admit(request, rule, checked))
    admit(request, rule, principal)
  }
  const forRoute =
    (handlerFor: (rule: Rule, method: string) => ReturnType<RouteGuard['forRoute']>) =>
    ({ access, annotations, method }: RouteInfo) => {
      if (access === 'public' || access === 'signed') return undefined
      const acceptsApiTokens = isOpenToApiTokens({ access, annotations })
      return handlerFor({ access, acceptsApiTokens, audience: audienceOf({ annotations }) }, method)
    }
  return [
    {
      name: 'iam.access',
      stage: 'access',
      reasons,
      security: () => ({ schemes: { cookie: { type: 'apiKey', in: 'cookie', name: sessionCookie } }, scopes: [] }),
      forRoute: forRoute((rule, method) => {
        if (method === 'GET') return (request, reply) => check(request, rule, reply)
        return (request, reply) => {
          request.admittedAt = clock.monotonic()
          return check(request, rule, reply)
        }
      }),
    },
    {
      name: 'iam.access-after-body',
      stage: 'quota',
      reasons,
      forRoute: forRoute((rule, method) => {
        if (method === 'GET') return undefined
        return (request, reply) => {
          if (clock.monotonic() - request.admittedAt >= maxEpochAgeMs) return check(request, rule, reply)
        }
      }),
    },
  ]
}

const reasons = [
  'iam.token-missing',
  'iam.token-invalid',
  'iam.token-expired',
  'iam.session-ambiguous',
  'iam.session-required',
  'iam.api-token-expired',
  'iam.api-token-invalid',
  'iam.api-token-misplaced',
  'iam.api-token-with-cookie',
  'iam.origin-unproven',
  'iam.user-disabled',
  'iam.token-out-of-audience',
  'iam.permission-denied',
  'iam.scope-all-required',
]

type Reply = Pick<HttpReply, 'header'>

interface Rule {
  readonly access: 'user' | PermissionAccess
  readonly acceptsApiTokens: boolean
  /** See `audienceOf`. */
  readonly audience: unknown
}

function admit(request: GuardedRequest, { access, acceptsApiTokens, audience }: Rule, principal: Principal): void {
  if (principal.audience !== undefined) assertAudience(principal, audience)
  else if (!acceptsApiTokens) assertNoApiToken(principal)
  if (access !== 'user') assertPermitted(access, principal)
  request.principal = principal
}

/**
 * Checks that a token of an audience is used for this audience.
 *
 * @throws BusinessError "403" `iam.token-out-of-audience`
 */
export function assertAudience(principal: Pick<Principal, 'audience'>, audience: unknown): void {
  if (principal.audience !== audience) throw businessError('token-out-of-audience')
}

/** Returns whether the access guard lets a user call a route with this access rule. */
export const hasAccess = (principal: Principal, access: Access): boolean =>
  typeof access === 'string' ||
  (isPermitted(access, principal) && (access.scope !== 'all' || principal.dataScope === 'all'))

/** True with the permission, or, if the route allows it, with the permission for a group of configuration keys. */
const isPermitted = ({ permission, orGroup = false }: Omit<PermissionAccess, 'scope'>, principal: Principal): boolean =>
  principal.can(permission) || (orGroup && [...principal.permissions].some((code) => code.startsWith(`${permission}:`)))

/**
 * Checks that a caller has the permission, and that the data scope of the caller is as wide as the operation requires
 * (decision F1).
 *
 * @throws BusinessError "403" `iam.permission-denied`, `iam.scope-all-required`
 */
export function assertPermitted({ permission, scope, orGroup = false }: PermissionAccess, principal: Principal): void {
  if (!isPermitted({ permission, orGroup }, principal))
    throw businessError('permission-denied', { params: { permission }, data: { permission } })
  if (scope === 'all' && principal.dataScope !== 'all') throw businessError('scope-all-required')
}

/**
 * Returns the caller of a route that is not public.
 *
 * @throws BusinessError "401" `iam.token-missing` on a public route
 */
export function requirePrincipal(request: Pick<GuardedRequest, 'principal'>): Principal {
  if (request.principal === undefined) throw businessError('token-missing')
  return request.principal
}

/**
 * Returns the access token of a request: that of the `Authorization` header, which a page of another site cannot set.
 * Without the header, returns the token of the session cookie. If the request has two session cookies, it is unknown
 * which one this site has set, so both are cleared.
 */
function tokenOf(request: GuardedRequest, reply: Reply): string {
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const token = bearerToken(authorization)
    // A browser that sends both would let a page act with the permissions of a script.
    if (isApiToken(token) && hasSessionCookie(request)) throw businessError('api-token-with-cookie')
    return token
  }
  if (hasAmbiguousCookie(request)) clearAllCookies(request, reply)
  const token = cookieToken(request)
  if (token === undefined) throw businessError('token-missing')
  assertSameSitePage(request)
  return token
}

function bearerToken(header: string): string {
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') throw businessError('token-missing')
  return header.slice(7).trim()
}

/**
 * Checks that a plugin declares each permission that a route requires.
 *
 * @throws PlinthError `PLINTH_IAM_PERMISSION_UNDECLARED` with all routes whose permission is undeclared, and their
 *   plugins
 */
export function assertPermissionsDeclared(routes: HttpServer['routes'], isDeclared: (code: string) => boolean): void {
  const undeclared = routes.flatMap(({ method, path, plugin, access }) =>
    typeof access === 'object' && !isDeclared(access.permission)
      ? [`${method} ${path} of plugin "${plugin}" needs "${access.permission}"`]
      : [],
  )
  if (undeclared.length > 0) throw iamError('PLINTH_IAM_PERMISSION_UNDECLARED', { routes: undeclared.join('; ') })
}
