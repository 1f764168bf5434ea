export * from './contract.ts'
export { default } from './plugin.ts'
export { smsReceipt } from './receipts.ts'
