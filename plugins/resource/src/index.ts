export * from './options.ts'
export { permission } from './resource.ts'
export * from './resource-plugin.ts'
export type { Store } from './store.ts'
