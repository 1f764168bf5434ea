export * from '@plinth/config-schema'
export {
  type ConfigEntry,
  type OrphanedValue,
  type OwnedKey,
  redact,
  type SourceName,
} from '@plinth/config-schema/reading'
export type { Logger } from 'pino'
export { loadProduct } from './cli/load-product.ts'
export * from './clock.ts'
export type * from './config-values.ts'
export * from './contracts/audit-trail.ts'
export * from './contracts/business-error.ts'
export type * from './contracts/command.ts'
export * from './contracts/health-check.ts'
export * from './contracts/install-audit.ts'
export type * from './contracts/install-task.ts'
export * from './contracts/notification-channel.ts'
export * from './contracts/notification-masking.ts'
export type * from './contracts/permission.ts'
export * from './contracts/quickstart-cleanup.ts'
export * from './contracts/rate-limit-store.ts'
export type * from './contracts/scheduled-task.ts'
export * from './deadline.ts'
export * from './error-line.ts'
export {
  isPlinthError,
  type KernelErrorCode,
  PlinthError,
  type Problem,
  reasonOf,
  StartRefusedError,
  StopFailedError,
} from './errors.ts'
export { kernelVersion } from './kernel-plugin.ts'
export * from './kernel-service.ts'
export { type Dependency, type Plan, planProduct } from './plan.ts'
export * from './plugin.ts'
export * from './private-files.ts'
export * from './product.ts'
export * from './refs.ts'
export * from './running-product.ts'
