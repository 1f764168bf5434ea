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
export { type Keyword, keywords } from './keywords.ts'
export { didYouMean, nearest } from './nearest.ts'
export { collectKeys, type KeyProblem, type OwnedKey } from './owned-keys.ts'
export { maxSearchedLength, redact, redactError, Secrets, withheldText } from './redaction.ts'
export {
  type ConfigLayer,
  type KeyIndex,
  type KnownEntries,
  type OrphanedValue,
  readSource,
  type SourceFinding,
  type SourceReading,
} from './source-reading.ts'
export {
  type BoundDestination,
  type ConfigEntry,
  type ConfigSource,
  fallbackPlace,
  type SourceName,
  type Surroundings,
  sourceOrder,
  sourcesOf,
} from './sources.ts'
export { type GivenValue, readGiven } from './value.ts'
