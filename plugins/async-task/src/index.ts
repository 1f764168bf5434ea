export * from './contract.ts'
export { type CsvColumn, type CsvValue, csvText, unguardedCell } from './csv.ts'
export { default } from './plugin.ts'
