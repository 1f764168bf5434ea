import { type NotificationMessage, service } from '@plinth/kernel'

/** A value of a variable: any JSON value. */
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
  /** Channel code. In the same language, a template for this channel is preferred to one for `all` (N-021, N-022). */
  readonly channel: string
  /** BCP 47 tag. The search tries the tag, then its language, then the default language of the product. */
  readonly locale?: string | undefined
}

/** A template without its content. */
export interface TemplateInfo {
  readonly id: number
  readonly code: string
  /** Channel of the template, or `all`. */
  readonly channel: string
  readonly locale: string
  /** Increases with every change. */
  readonly version: number
  /** Paths of the variables that the template needs, such as `code` or `user.name`, in the order of their first use. */
  readonly variables: readonly string[]
}

export interface RenderedTemplate {
  readonly template: TemplateInfo
  /** One line, not escaped. */
  readonly subject: string
  /** Plain text, not escaped. */
  readonly content: string
  /** Where values were inserted, as in `NotificationMessage.valueRanges` of the kernel. */
  readonly valueRanges: NonNullable<NotificationMessage['valueRanges']>
  /** HTML form of the message, with escaped values. Absent if the template has none. */
  readonly html?: string
  /** Paths of `template.variables` without a value. Each is rendered as empty text. `null` is a value. */
  readonly missingVariables: readonly string[]
}

/**
 * Message templates, which operators edit under `/api/v1/admin/templates` (decision A18). A change takes effect
 * immediately on every instance.
 */
export interface Templates {
  /** Returns the enabled template that fits best; undefined if none fits. */
  find(query: TemplateQuery): Promise<TemplateInfo | undefined>
  /**
   * Renders the template that fits best; undefined if none fits. Time and output are limited for any values.
   *
   * @throws BusinessError "400" `template.value-refused` if the values are not JSON, too many or too large;
   *   `template.output-too-large` if the output exceeds the limits
   */
  render(
    query: TemplateQuery & { readonly variables: Readonly<Record<string, TemplateValue>> },
  ): Promise<RenderedTemplate | undefined>
}

export const templates = service<Templates>('templates', { from: '@plinth/template' })
