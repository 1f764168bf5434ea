export type {
  ActionOptions,
  AuditOptions,
  ChangeIn,
  ChangeOptions,
  CreateIn,
  CreateOptions,
  Hooks,
  ListOptions,
  Operation,
  PageOptions,
  Permission,
  Reason,
  RemoveOptions,
  Resource,
  ResourceDeclarations,
  ResourceOptions,
  ResourceParts,
  ResourceServices,
  RowIn,
  ViewIn,
  Work,
} from './options.ts'
export { permission } from './resource.ts'
export {
  type Builders,
  defineResourcePlugin,
  type EventHandler,
  pluginWith,
  type ResourcePlugin,
} from './resource-plugin.ts'
export type { Store } from './store.ts'
