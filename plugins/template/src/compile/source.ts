export const htmlFormats = ['html', 'mjml'] as const
export type HtmlFormat = (typeof htmlFormats)[number]

/** A template as its author writes it. */
export interface TemplateSource {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  /** `mjml` is compiled to HTML when the template is saved. Null without `html`. */
  readonly htmlFormat: HtmlFormat | null
  /** BCP 47 tag, for `lang` of MJML that has none; null: unknown. */
  readonly locale: string | null
}

export type SourceField = 'subject' | 'content' | 'html'

/** Characters of each field, and what all of them may hold together. */
export const sourceLimits = {
  subject: 500,
  content: 20_000,
  html: 200_000,
  /** Of HTML that MJML was compiled to: it grows by a factor of up to 30. */
  compiledHtml: 400_000,
  /** Placeholders and blocks. */
  placeholders: 2_000,
  /** Blocks within each other. */
  depth: 16,
} as const

/** Rules of a source; each has its text in `messages/`. */
const sourceRules = [
  'syntax',
  'raw-output',
  'helper-unknown',
  'helper-values',
  'not-allowed',
  'too-deep',
  'too-many',
  'unquoted-attribute',
  'attribute-name',
  'address-unsafe',
  'no-value-here',
  'branches-differ',
  'element-refused',
  'html-open',
  'mjml-open',
  'mjml-refused',
  'mjml-include',
  'mjml-lost',
  'mjml-too-large',
] as const
export type SourceRule = (typeof sourceRules)[number]

/** Where a source breaks a rule. */
export interface SourceFault {
  readonly field: SourceField
  readonly rule: SourceRule
  /** From 1. Absent where only the compiled HTML has it. */
  readonly line?: number
  /** From 1. */
  readonly column?: number
  /** What stands there, or what the compiler says of it; at most 120 characters. */
  readonly near: string
}

/** Thrown while a source is compiled. */
export class RefusedSource extends Error {
  override readonly name = 'RefusedSource'
  readonly fault: SourceFault

  constructor(fault: SourceFault) {
    super(`${fault.field}: ${fault.rule}`)
    this.fault = { ...fault, near: [...fault.near].slice(0, 120).join('') }
  }
}
