export * from './contract.ts'
export { default } from './plugin.ts'
export { type PathRule, pathProblem } from './storage-service.ts'
export * from './upload-contract.ts'
