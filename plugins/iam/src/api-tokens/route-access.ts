import type { RouteAnnotation, RouteInfo } from '@plinth/http'
import type { Principal } from '../contract.ts'
import { businessError } from '../declarations.ts'

const annotationId = 'iam.api-tokens'

/**
 * Rejects API tokens on a route with a permission: `annotations: [sessionOnly]`. For operations that open a longer way
 * in than the token itself (passwords, sessions, secrets of applications), and for approvals, which a person decides.
 */
export const sessionOnly: RouteAnnotation<boolean> = { id: annotationId, value: false }

/**
 * Accepts API tokens on a route with `access: 'user'`: `annotations: [acceptsApiTokens]`. Only for routes that read and
 * that show nothing beyond the permissions of the token, because such a route requires no permission of the token.
 */
export const acceptsApiTokens: RouteAnnotation<boolean> = { id: annotationId, value: true }

/**
 * Returns whether callers may use an API token on a route. A route with a permission accepts them and a `user` route
 * rejects them, unless an annotation says otherwise.
 */
export function isOpenToApiTokens({ access, annotations }: Pick<RouteInfo, 'access' | 'annotations'>): boolean {
  const declared = annotations.find(({ id }) => id === annotationId)
  return declared === undefined ? typeof access === 'object' : declared.value === true
}

/**
 * Checks that the caller has not used an API token. For operations that only some requests of a route may do.
 *
 * @throws BusinessError "403" `iam.session-required`
 */
export function assertNoApiToken({ credential }: Pick<Principal, 'credential'>): void {
  if (credential === 'api-token') throw businessError('session-required')
}
