export * from './contract.ts'
export * from './masking.ts'
export { default } from './plugin.ts'
