/**
 * Entry point for code that stores the values of keys, such as the kernel. Plugins do not need it: they declare keys
 * and read values through the kernel.
 *
 * @module
 */
export { catalogueOf } from './catalogue.ts'
export {
  decodeEnvFile,
  type EnvFile,
  type EnvFileEntry,
  type EnvFileProblem,
  parseEnvFile,
  type WrittenEnvValue,
  writeEnvValue,
} from './env-file.ts'
export { didYouMean, nearestName } from './nearest.ts'
export { collectKeys, type KeyProblem, type OwnedKey } from './owned-keys.ts'
export { maxRedactableLength, redact, redactError, Secrets, unsearchableTextNotice } from './redaction.ts'
export {
  type CheckedEntryCache,
  type ConfigValue,
  type KeyIndex,
  type OrphanedValue,
  type ReadSourceResult,
  readSource,
  type SourceProblem,
} from './source-reading.ts'
export {
  type ConfigEntry,
  type ConfigSource,
  type ConfigSourceInputs,
  type Fingerprints,
  fallbackValuePlace,
  type SourceName,
  sourceOrder,
  sourcesOf,
} from './sources.ts'
export { parseSourceValue, type SourceValue } from './value.ts'
