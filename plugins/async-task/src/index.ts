export * from './contract.ts'
export { type CsvColumn, type CsvValue, csvText } from './csv.ts'
export { type AsyncTaskErrorCode, asyncTaskErrors } from './errors.ts'
export { default } from './plugin.ts'
