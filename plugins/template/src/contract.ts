import { type NotificationMessage, service } from '@plinth/kernel'

/** A value that a template may be filled with: what JSON can write, and nothing else. */
export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | readonly TemplateValue[]
  | { readonly [name: string]: TemplateValue }

/** Which template is wanted (document 2, "Template rules"). */
export interface TemplateQuery {
  readonly code: string
  /** Code of the channel; a template for it wins over one for channel `all` in the same language (N-021, N-022). */
  readonly channel: string
  /** BCP 47 tag. Looked for as it is, then its language, then the default language of the product. Absent: that one. */
  readonly locale?: string | undefined
}

/** What is known of a template without rendering it. */
export interface TemplateInfo {
  readonly id: number
  readonly code: string
  /** The channel that it was written for, or `all`. */
  readonly channel: string
  readonly locale: string
  /** Grows with every change. */
  readonly version: number
  /** Paths of the variables that it needs, such as `code` or `user.name`, in order of their first appearance. */
  readonly variables: readonly string[]
}

export interface RenderedTemplate {
  readonly template: TemplateInfo
  /** One line. Not escaped. */
  readonly subject: string
  /** Plain text. Not escaped. */
  readonly content: string
  /** Where subject and content hold values, as `NotificationMessage.valueRanges` of the kernel. */
  readonly valueRanges: NonNullable<NotificationMessage['valueRanges']>
  /** HTML form of the message with its values escaped; absent when the template has none. */
  readonly html?: string
  /** Those of `template.variables` that were not given; each renders as nothing. A value `null` counts as given. */
  readonly missingVariables: readonly string[]
}

/**
 * Message templates, which operators write under `/api/v1/admin/templates` (decision A18). A change counts at once on every
 * instance.
 */
export interface Templates {
  /** The enabled template for a query; `undefined` when there is none. */
  find(query: TemplateQuery): Promise<TemplateInfo | undefined>
  /**
   * Fills a template in; `undefined` when there is none. Work and output are bounded, whatever the values are.
   *
   * @throws BusinessError "400" `template.value-refused` for values that are no JSON, too many or too large, and
   *   `template.output-too-large` when what it renders passes the limits
   */
  render(
    query: TemplateQuery & { readonly variables: Readonly<Record<string, TemplateValue>> },
  ): Promise<RenderedTemplate | undefined>
}

export const templates = service<Templates>('templates', { from: '@plinth/template' })
