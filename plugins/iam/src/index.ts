export { assertPermitted, isAdmitted, isOperator, operatorOf, requirePrincipal } from './access/access-guard.ts'
export { callerRows, callerRowsSql } from './access/data-scope.ts'
export * from './contract.ts'
export { default } from './plugin.ts'
export {
  assertSessionAnswerable,
  cookieToken,
  openedSession,
  respondWithSession,
  sessionChoice,
} from './sessions/session-cookie.ts'
export * from './verification/contract.ts'
