export * from './contract.ts'
export * from './json-answer.ts'
export { default } from './plugin.ts'
