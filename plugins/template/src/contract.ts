import { type NotificationMessage, service } from '@plinth/kernel'

/** A variable of a template: a JSON value. */
export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | readonly TemplateValue[]
  | { readonly [name: string]: TemplateValue }

/** Selects a template (document 2, "Template rules"). */
export interface TemplateQuery {
  readonly code: string
  /** Code of the channel. In the same language, a template for it precedes one for channel `all` (N-021, N-022). */
  readonly channel: string
  /**
   * BCP 47 tag. The search uses the tag, then its language, then the default language of the product, which also
   * applies if the tag is absent.
   */
  readonly locale?: string | undefined
}

/** Description of a template without its content. */
export interface TemplateInfo {
  readonly id: number
  readonly code: string
  /** Channel of the template, or `all`. */
  readonly channel: string
  readonly locale: string
  /** Increases with every change. */
  readonly version: number
  /** Paths of the needed variables, such as `code` or `user.name`, in order of first appearance. */
  readonly variables: readonly string[]
}

export interface RenderedTemplate {
  readonly template: TemplateInfo
  /** One line. Not escaped. */
  readonly subject: string
  /** Plain text. Not escaped. */
  readonly content: string
  /** Ranges of values in subject and content, as in `NotificationMessage.valueRanges` of the kernel. */
  readonly valueRanges: NonNullable<NotificationMessage['valueRanges']>
  /** HTML form of the message, with escaped values. Absent if the template has none. */
  readonly html?: string
  /** Paths of `template.variables` without a value. Each renders as empty text. `null` is a value. */
  readonly missingVariables: readonly string[]
}

/**
 * Message templates, which operators edit under `/api/v1/admin/templates` (decision A18). A change takes effect
 * immediately on every instance.
 */
export interface Templates {
  /** Returns the enabled template for a query, or undefined if none matches. */
  find(query: TemplateQuery): Promise<TemplateInfo | undefined>
  /**
   * Renders a template; returns undefined if none matches. Work and output are limited for all values.
   *
   * @throws BusinessError "400" `template.value-refused` if the values are not JSON, too many or too large;
   *   `template.output-too-large` if the output exceeds the limits
   */
  render(
    query: TemplateQuery & { readonly variables: Readonly<Record<string, TemplateValue>> },
  ): Promise<RenderedTemplate | undefined>
}

export const templates = service<Templates>('templates', { from: '@plinth/template' })
