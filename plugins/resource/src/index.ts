export * from './options.ts'
export { readOnlyResource } from './resource.ts'
export * from './resource-plugin.ts'
export type { Store } from './store.ts'
