export { buildCatalogue, type CatalogueEntry } from './catalogue.ts'
export { catalogueToDotenv, catalogueToMarkdown } from './catalogue-pages.ts'
export type * from './declaration.ts'
export {
  bilingual,
  defined,
  environmentName,
  environmentNameOf,
  inBothLocales,
  type Localized,
  localize,
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
export { didYouMean, nearest } from './nearest.ts'
export { type DeclarationProblem, validateDeclaration } from './validate-declaration.ts'
export {
  maskedValue,
  maxSecretsLength,
  maxValueLength,
  readText,
  readValue,
  type TextReading,
  tooLongTogether,
  type ValueProblem,
  validateValue,
  valueLength,
} from './value.ts'
