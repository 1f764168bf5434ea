export { buildCatalogue, type CatalogueEntry } from './catalogue.ts'
export { catalogueToDotenv, catalogueToMarkdown } from './catalogue-pages.ts'
export type * from './declaration.ts'
export {
  bilingual,
  environmentName,
  environmentNameOf,
  guardsPermission,
  inBothLocales,
  type Localized,
  localize,
  omitUndefined,
  ownProperty,
} from './declaration.ts'
export { type Format, formatDuration, formats, parseBytes, parseDuration } from './formats.ts'
export {
  type KeyBuilder,
  type KeyOptions,
  key,
  type ListConstraints,
  type NumberConstraints,
  type QuantityConstraints,
  type StringConstraints,
} from './key.ts'
export { didYouMean, nearestName } from './nearest.ts'
export { type DeclarationProblem, validateDeclaration } from './validate-declaration.ts'
export {
  countValueCharacters,
  maskedValue,
  maxSecretsLength,
  maxValueLength,
  type ParsedValueResult,
  parseValueText,
  readValue,
  secretsTooLongRule,
  type ValueProblem,
  validateValue,
} from './value.ts'
