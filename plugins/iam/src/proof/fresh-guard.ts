import type { RouteGuard } from '@plinth/http'
import { requirePrincipal } from '../access/access-guard.ts'
import type { FreshProofOptions, GuardedRequest } from '../contract.ts'

/**
 * Checks that the caller has proven the identity recently, for operations that not all requests of a route need it for.
 * For whole routes, declare `fresh`. Does nothing while `platform.iam.fresh-proof.enabled` is false.
 *
 * @param maxAge duration from `1m` to `24h`, for example `5m`
 * @param options see `Principal.assertFresh`
 * @throws BusinessError "401" `iam.proof-required`, and `iam.token-missing` on a public route
 */
export async function assertFresh(
  request: Pick<GuardedRequest, 'principal'>,
  maxAge: string,
  options?: FreshProofOptions,
): Promise<void> {
  await requirePrincipal(request).assertFresh(maxAge, options)
}

/**
 * Asks for a fresh proof on routes that declare `fresh`. Runs after the access guard and before the body is read. Other
 * routes do not have this guard.
 */
export const freshProofGuard: RouteGuard = {
  name: 'iam.fresh-proof',
  stage: 'access',
  reasons: ['iam.proof-required'],
  forRoute: ({ fresh }) =>
    fresh === undefined ? undefined : (request) => requirePrincipal(request).assertFresh(fresh),
}
