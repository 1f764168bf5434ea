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

const audienceId = 'iam.audience'

/**
 * Accepts tokens of an audience on a route with `access: 'user'`: `annotations: [acceptsAudience('inbox')]`. Such a token
 * has no permissions, and all other routes reject it. See `Identity.issueAudienceToken`.
 */
export const acceptsAudience = (audience: string): RouteAnnotation<string> => ({ id: audienceId, value: audience })

/** Returns the audience whose tokens callers may use on a route, or `undefined`. */
export const audienceOf = ({ annotations }: Pick<RouteInfo, 'annotations'>): unknown =>
  annotations.find(({ id }) => id === audienceId)?.value

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
