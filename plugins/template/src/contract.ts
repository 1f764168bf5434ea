import { type NotificationMessage, service } from '@plinth/kernel'

export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | readonly TemplateValue[]
  | { readonly [name: string]: TemplateValue }

/** Query for the best template of a message (document 2 of the specification, "Template rules"). */
export interface TemplateQuery {
  readonly code: string
  /** Channel of the message. In the same language, a template for this channel is preferred to a template for `all`. */
  readonly channel: string
  /** BCP 47 tag of the reader. The search tries this tag, then its language, then the default language. */
  readonly locale?: string | undefined
  /** Time zone of the reader, for dates: a name in the IANA time zone database. Default: the zone of the site. */
  readonly timeZone?: string | undefined
}

export interface TemplateInfo {
  readonly id: number
  readonly code: string
  /** Code of a channel, or `all`. */
  readonly channel: string
  readonly locale: string
  readonly version: number
  /** Paths that must have a value, such as `user.name`, in the order of their first use. */
  readonly variables: readonly string[]
  /** Paths without which the template is complete too, because only conditions need them. */
  readonly optionalVariables: readonly string[]
}

export interface RenderedTemplate {
  readonly template: TemplateInfo
  /** Subject in one line. It is not escaped. */
  readonly subject: string
  /** Plain text. It is not escaped. */
  readonly content: string
  /** Ranges of inserted values in subject and content, as in `NotificationMessage.valueRanges`. */
  readonly valueRanges: NonNullable<NotificationMessage['valueRanges']>
  /** HTML with escaped values. Absent if the template has none. */
  readonly html?: string
  /** Needed paths without a value. They are rendered as empty text. `null` is a value. */
  readonly missingVariables: readonly string[]
}

/**
 * Finds and renders templates. Operators edit templates under `/api/v1/admin/templates`. A change takes effect
 * immediately on every instance.
 */
export interface Templates {
  /** Returns the enabled template that fits best. */
  find(query: TemplateQuery): Promise<TemplateInfo | undefined>
  /**
   * Renders the template that fits best; undefined if no template fits. Time and output are limited for any values.
   *
   * @throws BusinessError "400" `template.value-refused` if the values are not JSON, too many or too large;
   * `template.output-too-large`
   */
  render(
    query: TemplateQuery & { readonly variables: Readonly<Record<string, TemplateValue>> },
  ): Promise<RenderedTemplate | undefined>
}

export const templates = service<Templates>('templates', { from: '@plinth/template' })
