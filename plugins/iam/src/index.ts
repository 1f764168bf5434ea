export { requirePrincipal } from './access/access-guard.ts'
export * from './contract.ts'
export { default } from './plugin.ts'
export * from './verification/contract.ts'
