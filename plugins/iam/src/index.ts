export { requirePrincipal } from './access-guard.ts'
export * from './contract.ts'
export { type IamErrorCode, iamErrors } from './errors.ts'
export { default } from './plugin.ts'
