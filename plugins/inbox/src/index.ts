export * from './contract.ts'
export { jumpTargetOf, moduleOf } from './items/jump-target.ts'
export { default } from './plugin.ts'
export { type Category, categories, categoryOf } from './preferences/categories.ts'
