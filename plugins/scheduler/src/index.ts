export * from './contract.ts'
export { type SchedulerErrorCode, schedulerErrors } from './errors.ts'
export { default } from './plugin.ts'
