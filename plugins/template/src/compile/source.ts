export const htmlFormats = ['html', 'mjml'] as const
export type HtmlFormat = (typeof htmlFormats)[number]

/** A template as its author writes it. */
export interface TemplateSource {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  /** `mjml` is compiled to HTML when the template is saved. Null without `html`. */
  readonly htmlFormat: HtmlFormat | null
  /** BCP 47 tag for the attribute `lang` of MJML that has none. Null if unknown. */
  readonly locale: string | null
}

export type SourceField = 'subject' | 'content' | 'html'

/** Maximum number of characters of each field, and limits per field. */
export const sourceLimits = {
  subject: 500,
  content: 20_000,
  html: 200_000,
  /** Characters of HTML that was compiled from MJML. It can be 30 times longer than its source. */
  compiledHtml: 400_000,
  /** Number of placeholders and blocks. */
  placeholders: 2_000,
  /** Depth of nested blocks. */
  depth: 16,
} as const

/** Rules that a source can break. Each has a text in `messages/`. */
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

/** A broken rule and its position. */
export interface SourceProblem {
  readonly field: SourceField
  readonly rule: SourceRule
  /** Starts at 1. Absent if the position is only known in the compiled HTML. */
  readonly line?: number
  /** Starts at 1. */
  readonly column?: number
  /** Text at this position, or the message of the compiler; at most 120 characters. */
  readonly near: string
}

/** A source breaks a rule. */
export class RejectedSource extends Error {
  override readonly name = 'RejectedSource'
  readonly fault: SourceProblem

  constructor(fault: SourceProblem) {
    super(`${fault.field}: ${fault.rule}`)
    this.fault = { ...fault, near: [...fault.near].slice(0, 120).join('') }
  }
}
