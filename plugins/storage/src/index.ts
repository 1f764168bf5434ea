export * from './contract.ts'
export { default } from './plugin.ts'
export { type PathRule, pathFault } from './storage-service.ts'
