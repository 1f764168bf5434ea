export * from './contract.ts'
export { localDays } from './local-days.ts'
export { default } from './plugin.ts'
