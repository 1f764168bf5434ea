export { assertPermitted, isAdmitted, isOperator, operatorOf, requirePrincipal } from './access/access-guard.ts'
export { callerRows, callerRowsSql } from './access/data-scope.ts'
export * from './contract.ts'
export { default } from './plugin.ts'
export {
  answerSession,
  assertSessionAnswerable,
  cookieToken,
  openedSession,
  sessionChoice,
} from './sessions/session-cookie.ts'
export * from './verification/contract.ts'
