export * from './contract.ts'
export { postingInvalidError } from './ledger/checks.ts'
export { default } from './plugin.ts'
