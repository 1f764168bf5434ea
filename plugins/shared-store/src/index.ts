export * from './contract.ts'
export { default } from './plugin.ts'
export { type BucketState, decideBucket } from './quota-rules.ts'
