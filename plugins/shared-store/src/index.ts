export * from './contract.ts'
export { default } from './plugin.ts'
export { type BucketState, decideBucket, type QuotaDecision, toRateLimitDecision } from './quota-rules.ts'
