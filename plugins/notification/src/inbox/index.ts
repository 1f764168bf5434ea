export * from './contract.ts'
export { type Category, categories, categoryOf } from './preferences/categories.ts'
