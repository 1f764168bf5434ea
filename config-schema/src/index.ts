export { buildCatalogue, type CatalogueEntry } from './catalogue.ts'
export { catalogueToDotenv, catalogueToMarkdown } from './catalogue-pages.ts'
export type * from './declaration.ts'
export { defined } from './defined.ts'
export { environmentName, environmentNameOf } from './environment-name.ts'
export { type Format, formats } from './formats.ts'
export {
  type KeyBuilder,
  type KeyOptions,
  key,
  type ListConstraints,
  type NumberConstraints,
  type QuantityConstraints,
  type StringConstraints,
} from './key.ts'
export { bilingual, inBothLocales, type Localized, localize } from './localize.ts'
export { didYouMean, nearest } from './nearest.ts'
export { formatDuration, parseBytes, parseDuration } from './quantity.ts'
export { type DeclarationProblem, validateDeclaration } from './validate-declaration.ts'
export { maskedValue, readText, readValue, type TextReading, type ValueProblem, validateValue } from './value.ts'
export { longestSecrets, longestValue, tooLongTogether, valueLength } from './value-size.ts'
