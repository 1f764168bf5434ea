export * from './contract.ts'
export { postingInvalid } from './ledger/checks.ts'
export { default } from './plugin.ts'
