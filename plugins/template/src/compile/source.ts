export const htmlFormats = ['html', 'mjml'] as const
export type HtmlFormat = (typeof htmlFormats)[number]

export interface TemplateSource {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  /** `mjml` is compiled when the template is saved. Null without `html`. */
  readonly htmlFormat: HtmlFormat | null
  /** `lang` of MJML that has none, a BCP 47 tag. */
  readonly locale: string | null
}

export type SourceField = 'subject' | 'content' | 'html'

/** Maximum characters of each field, and limits per field. */
export const sourceLimits = {
  subject: 500,
  content: 20_000,
  html: 200_000,
  /** Compiled HTML can be 30 times longer than its MJML. */
  compiledHtml: 400_000,
  /** Placeholders and blocks. */
  placeholders: 2_000,
  /** Nested blocks. */
  depth: 16,
} as const

/** Each rule has a text in `messages/`. */
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

export interface SourceProblem {
  readonly field: SourceField
  readonly rule: SourceRule
  /** From 1. Absent if the position is only known in the compiled HTML. */
  readonly line?: number
  /** From 1. */
  readonly column?: number
  /** Text at this position, or message of the compiler; at most 120 characters. */
  readonly near: string
}

export class RejectedSource extends Error {
  override readonly name = 'RejectedSource'
  readonly fault: SourceProblem

  constructor(fault: SourceProblem) {
    super(`${fault.field}: ${fault.rule}`)
    this.fault = { ...fault, near: [...fault.near].slice(0, 120).join('') }
  }
}
