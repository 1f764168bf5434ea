export * from './options.ts'
export { permission } from './resource.ts'
export {
  type Builders,
  defineResourcePlugin,
  type EventHandler,
  pluginWith,
  type ResourcePlugin,
} from './resource-plugin.ts'
export type { Store } from './store.ts'
