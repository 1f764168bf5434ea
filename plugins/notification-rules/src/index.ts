export * from './contract.ts'
export { decide, stateAfter } from './decision.ts'
export { default } from './plugin.ts'
