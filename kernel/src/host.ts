/**
 * Entry point for programs and plugins that start, inspect, configure or install products. Other plugins need only
 * `@plinth/kernel`.
 *
 * @module
 */

export {
  buildCatalogue,
  type CatalogueEntry,
  catalogueToDotenv,
  catalogueToMarkdown,
  countValueCharacters,
  maxSecretsLength,
  maxValueLength,
  parseValueText,
  secretsTooLongRule,
} from '@plinth/config-schema'
export {
  type ConfigEntry,
  decodeEnvFile,
  type EnvFile,
  type EnvFileEntry,
  type EnvFileProblem,
  type Fingerprints,
  fallbackValuePlace,
  type OrphanedValue,
  type OwnedKey,
  parseEnvFile,
  type SourceName,
  type WrittenEnvValue,
  writeEnvValue,
} from '@plinth/config-schema/reading'
export { findShapeProblems, type ShapeProblem } from '@plinth/config-schema/shapes'
export { loadProduct } from './cli/load-product.ts'
export { createManifest, lockFileText, type Manifest } from './cli/manifest.ts'
export type { ConfigValues } from './configuration/config-values.ts'
export type { ConfigExplanation, SourcedValue, WithheldSecret } from './configuration/explanation.ts'
export {
  type BoundInstallTask,
  type BoundScheduledTask,
  type ConfigAdmin,
  configAdmin,
  type DeclaredTasks,
  declaredTasks,
} from './contracts/kernel.ts'
export type { BusinessErrorsDeclaration } from './errors/business-error.ts'
export { type KernelErrorCode, type Problem, StartRejectedError, StopFailedError } from './errors/kernel-errors.ts'
export { type RevertedTrial, SettingsTrial } from './files/settings-trial.ts'
export { kernelVersion } from './kernel-plugin.ts'
export { type Dependency, type Plan, planProduct } from './plan.ts'
export { type FailedStart, isPlugin, type PluginRuntime } from './plugin.ts'
export { type PrepareOptions, prepareProduct } from './product.ts'
export { RunningProduct, type StartOptions, startProduct } from './running-product.ts'
