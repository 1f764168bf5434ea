export { backOffice } from './back-office.ts'
export * from './frame-pages.ts'
export * from './label-sources.ts'
export * from './overview-declarations.ts'
export * from './page-builders.ts'
export type { PageColumn, PageValue } from './page-columns.ts'
export * from './page-declaration.ts'
export type { OwnPageGroup, PageNavigationPlace } from './page-place.ts'
export * from './page-texts.ts'
export { type GroupIcon, groupIcons, type PageGroup, pageGroups, shapeOf, type Tone, tones } from './page-vocabulary.ts'
export {
  bulkOutcome,
  formSchema,
  type PageAction,
  type PageAmount,
  type PageBulkAction,
  type PageChoices,
  type PageForm,
  type PageFormSection,
  type PageLabelPicker,
  type PageLivePreview,
  type PageOutcome,
  type PageParameter,
  type PagePreview,
  type PageResultLink,
  type PreviewVariable,
} from './page-writes.ts'
export * from './sign-in-declaration.ts'
export * from './timeline-declaration.ts'
