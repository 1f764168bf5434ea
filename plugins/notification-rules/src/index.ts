export * from './contract.ts'
export { alertStateAfter, decideAlert } from './decision.ts'
export { default } from './plugin.ts'
