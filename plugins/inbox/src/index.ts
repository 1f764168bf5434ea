export * from './contract.ts'
export { type Category, categories, categoryOf } from './contract.ts'
export { jumpTargetOf, moduleOf } from './items/jump-target.ts'
export { default } from './plugin.ts'
