export * from './contract.ts'
export { type CsvColumn, type CsvValue, csvText } from './csv.ts'
export { default } from './plugin.ts'
