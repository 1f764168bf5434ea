export * from '@plinth/config-schema'
export {
  type ConfigEntry,
  fallbackPlace,
  type OrphanedValue,
  type OwnedKey,
  redact,
  type SourceName,
} from '@plinth/config-schema/reading'
export type { Logger } from 'pino'
export { loadProduct } from './cli/load-product.ts'
export type * from './config-values.ts'
export * from './contracts/index.ts'
export * from './errors/business-error.ts'
export * from './errors/coded-error.ts'
export { type KernelErrorCode, type Problem, StartRefusedError, StopFailedError } from './errors/kernel-errors.ts'
export * from './files/private-files.ts'
export * from './files/settings-trial.ts'
export { kernelVersion } from './kernel-plugin.ts'
export * from './logging/error-line.ts'
export { FailureLog, type FailureTexts } from './logging/failure-log.ts'
export { type Dependency, type Plan, planProduct } from './plan.ts'
export * from './plugin.ts'
export { instanceName, mayBeAlive, type ProcessIdentity, processIdentity } from './process/process-identity.ts'
export * from './product.ts'
export * from './refs.ts'
export * from './running-product.ts'
export { columnText } from './text/column-text.ts'
export { fillText, type TextParams } from './text/fill-text.ts'
export { pluginTitle } from './text/plugin-title.ts'
export * from './time/clock.ts'
export * from './time/deadline.ts'
export * from './time/deadlines.ts'
export type { Maker, Makers } from './wiring.ts'
