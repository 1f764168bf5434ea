export { assertPermitted, hasAccess, isOperator, operatorOf, requirePrincipal } from './access/access-guard.ts'
export { callerRows, callerRowsSql, outOfScope, ownerOfLaterWork } from './access/data-scope.ts'
export type { SignInPolicy } from './access/sign-in-policy.ts'
export { secondFactorReasons } from './accounts/inputs.ts'
export { mailOwner, type OwnerMailDependencies } from './accounts/owner-mail.ts'
export { apiTokenEnding } from './api-tokens/end-notice.ts'
export { acceptsApiTokens, acceptsAudience, assertNoApiToken, sessionOnly } from './api-tokens/route-access.ts'
export * from './contract.ts'
export { default } from './plugin.ts'
export * from './proof/contract.ts'
export { assertFresh } from './proof/fresh-guard.ts'
export { renewedSessionSchema, respondWithProof } from './proof/proof-routes.ts'
export { tokenOf } from './proof/request-token.ts'
export {
  assertMaySetCookie,
  clearCookie,
  cookieToken,
  openedSessionSchema,
  respondWithSession,
  sessionTransportField,
} from './sessions/session-cookie.ts'
export * from './verification/contract.ts'
