export { encodeJson, fitsSchema } from './checked-json.ts'
export * from './contract.ts'
export * from './neutral-events.ts'
export { default } from './plugin.ts'
