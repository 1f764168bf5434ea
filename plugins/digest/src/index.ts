export * from './contract.ts'
export { default } from './plugin.ts'
