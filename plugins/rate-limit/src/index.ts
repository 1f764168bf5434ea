export * from './contract.ts'
export { retryAfterSeconds, tooManyRequests } from './failures.ts'
export { default } from './plugin.ts'
