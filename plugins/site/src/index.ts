export * from './contract.ts'
export { default, localDays } from './plugin.ts'
