export * from './contract.ts'
export * from './neutral-events.ts'
export { encodeJson, fitsSchema } from './payload.ts'
export { default } from './plugin.ts'
