import type { HttpServer, RouteGuard } from '@plinth/http'
import type { GuardedRequest, Identity, Principal } from './contract.ts'
import { iamError } from './errors.ts'
import { refusal } from './failures.ts'

/** Lets a request pass that may: a valid token for `user` routes, the permission as well where a route asks for one. */
export function accessGuard(identity: Pick<Identity, 'authenticate'>): RouteGuard {
  return {
    name: 'iam.access',
    stage: 'access',
    forRoute({ access }) {
      if (access === 'public' || access === 'signed') return undefined
      const permission = access === 'user' ? undefined : access.permission
      const admit = (request: GuardedRequest, principal: Principal) => {
        if (permission !== undefined && !principal.can(permission)) {
          throw refusal('permission-denied', { params: { permission }, data: { permission } })
        }
        request.principal = principal
      }
      return (request) => {
        const principal = identity.authenticate(bearerToken(request.headers.authorization))
        if (principal instanceof Promise) return principal.then((checked) => admit(request, checked))
        admit(request, principal)
      }
    },
  }
}

/** The caller of a route that is not public. Throws "401" `iam.token-missing` on one that is. */
export function requirePrincipal(request: Pick<GuardedRequest, 'principal'>): Principal {
  if (request.principal === undefined) throw refusal('token-missing')
  return request.principal
}

function bearerToken(header: string | undefined): string {
  const scheme = header?.slice(0, 7)
  if (header === undefined || scheme?.toLowerCase() !== 'bearer ') throw refusal('token-missing')
  return header.slice(7).trim()
}

/**
 * Every permission that a route asks for must be one that roles can be given.
 *
 * @throws PlinthError `PLINTH_IAM_PERMISSION_UNDECLARED` with all such routes and their plugins
 */
export function assertPermissionsDeclared(routes: HttpServer['routes'], isDeclared: (code: string) => boolean): void {
  const undeclared = routes.flatMap(({ method, path, plugin, access }) =>
    typeof access === 'object' && !isDeclared(access.permission)
      ? [`${method} ${path} of plugin "${plugin}" needs "${access.permission}"`]
      : [],
  )
  if (undeclared.length > 0) throw iamError('PLINTH_IAM_PERMISSION_UNDECLARED', { routes: undeclared.join('; ') })
}
