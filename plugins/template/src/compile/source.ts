export const htmlFormats = ['html', 'mjml'] as const
export type HtmlFormat = (typeof htmlFormats)[number]

export interface TemplateSource {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  /** Format of `html`. `mjml` is compiled when the template is saved. Null if the template has no `html`. */
  readonly htmlFormat: HtmlFormat | null
  /** BCP 47 tag that is set as `lang` if the MJML has none. */
  readonly locale: string | null
}

export type SourceField = 'subject' | 'content' | 'html'

/** Maximum number of characters of each field, and other limits for each field. */
export const sourceLimits = {
  subject: 500,
  content: 20_000,
  html: 200_000,
  /** Limit for compiled HTML, which can be 30 times longer than its MJML. */
  compiledHtml: 400_000,
  /** Maximum number of placeholders and blocks. */
  placeholders: 2_000,
  /** Maximum depth of nested blocks. */
  depth: 16,
} as const

/** Rules for sources. Each rule has a text in `messages/`. */
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
  'picture-unknown',
] as const
export type SourceRule = (typeof sourceRules)[number]

export interface SourceProblem {
  readonly field: SourceField
  readonly rule: SourceRule
  /** Line of the error, from 1. Absent if the position is only known in the compiled HTML. */
  readonly line?: number
  /** Column of the error, from 1. */
  readonly column?: number
  /** Source text at this position, or the message of the compiler; at most 120 characters. */
  readonly near: string
}

export class RejectedSourceError extends Error {
  override readonly name = 'RejectedSourceError'
  readonly fault: SourceProblem

  constructor(fault: SourceProblem) {
    super(`${fault.field}: ${fault.rule}`)
    this.fault = { ...fault, near: [...fault.near].slice(0, 120).join('') }
  }
}
