/**
 * Entry point for programs and plugins that start, inspect, configure or install products, and for plugins that store
 * data of others, such as tables, audit entries or tasks. Other plugins need only `@plinth/kernel`.
 *
 * @module
 */

export {
  buildCatalogue,
  type CatalogueEntry,
  catalogueToDotenv,
  catalogueToMarkdown,
  countValueCharacters,
  environmentName,
  environmentNameOf,
  formatDuration,
  inBothLocales,
  maxSecretsLength,
  maxValueLength,
  parseBytes,
  parseDuration,
  parseValueText,
  readValue,
  secretsTooLongRule,
  validateDeclaration,
  validateValue,
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
export { readSecret, type SecretInputOptions } from './cli/secret-input.ts'
export type { ConfigValues } from './configuration/config-values.ts'
export type { ConfigExplanation, SourcedValue, WithheldSecret } from './configuration/explanation.ts'
export {
  auditTrail,
  type BoundInstallTask,
  type BoundScheduledTask,
  type ConfigAdmin,
  configAdmin,
  type DeclaredTasks,
  declaredTasks,
  manifestEntries,
  maskedSummary,
  ownerOfName,
  pluginData,
  readHealthWarnings,
  startSummary,
  upgradeSteps,
} from './contracts/kernel.ts'
export type { BusinessErrorsDeclaration } from './errors/business-error.ts'
export { causeCodeOf, isUnavailable } from './errors/coded-error.ts'
export { type KernelErrorCode, type Problem, StartRejectedError, StopFailedError } from './errors/kernel-errors.ts'
export { makePrivateDirectory, makePrivateFile } from './files/private-files.ts'
export { type RevertedTrial, SettingsTrial } from './files/settings-trial.ts'
export { kernelVersion } from './kernel-plugin.ts'
export { toErrorLine } from './logging/error-line.ts'
export { type Dependency, type Plan, planProduct } from './plan.ts'
export { type FailedStart, implementedMembers, isPlugin, originOf, type PluginRuntime, roles } from './plugin.ts'
export { instanceName, mayProcessBeAlive, nodeEnvironmentOf, processIdentity } from './process/process-identity.ts'
export { isProduct, type PrepareOptions, prepareProduct } from './product.ts'
export { unwrapOptional } from './refs.ts'
export { RunningProduct, type StartOptions, startProduct } from './running-product.ts'
export { pluginTitle } from './text/plugin-texts.ts'
export { createTickClock } from './time/clock.ts'
