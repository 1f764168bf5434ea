export * from './contract.ts'
export { createDayFormatter, default } from './plugin.ts'
