export * from './contract.ts'
export { default } from './plugin.ts'
export { type BucketState, decideBucket, type QuotaDecision, shown } from './quota-rules.ts'
