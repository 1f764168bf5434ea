export * from './contract.ts'
export { retryAfterSeconds, tooManyRequests } from './declarations.ts'
export { default } from './plugin.ts'
