export * from '@plinth/config-schema'
export {
  type BoundDestination,
  type ConfigEntry,
  decodeEnvFile,
  type EnvFile,
  type EnvFileEntry,
  type EnvFileFault,
  fallbackPlace,
  type OrphanedValue,
  type OwnedKey,
  parseEnvFile,
  redact,
  type SourceName,
  type WrittenEnvValue,
  writeEnvValue,
} from '@plinth/config-schema/reading'
export type { Logger } from 'pino'
export { loadProduct } from './cli/load-product.ts'
export type { ConfigValues } from './configuration/config-values.ts'
export type * from './configuration/explanation.ts'
export * from './contracts/index.ts'
export * from './errors/business-error.ts'
export * from './errors/coded-error.ts'
export { type KernelErrorCode, type Problem, StartRefusedError, StopFailedError } from './errors/kernel-errors.ts'
export * from './files/private-files.ts'
export * from './files/settings-trial.ts'
export { kernelVersion } from './kernel-plugin.ts'
export * from './logging/error-line.ts'
export { type Dependency, type Plan, planProduct } from './plan.ts'
export * from './plugin.ts'
export {
  instanceName,
  mayBeAlive,
  type NodeEnvironment,
  nodeEnvironmentOf,
  type ProcessIdentity,
  processIdentity,
} from './process/process-identity.ts'
export * from './product.ts'
export * from './refs.ts'
export * from './running-product.ts'
export { type Shape, type ShapeType, shape } from './shapes/shape.ts'
export { type ShapeProblem, shapeProblems } from './shapes/shape-check.ts'
export { pluginTitle } from './text/plugin-title.ts'
export { columnText, fillText, hostAndPort, type TextParams } from './text/text.ts'
export * from './time/clock.ts'
export * from './time/deadlines.ts'
export * from './time/deadlines.ts'
export { asClass, asFunction, type PartResolver, type Resolvers } from './wiring.ts'
