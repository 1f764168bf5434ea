import {
  extensionPoint,
  type LocalizedText,
  type MessageFile,
  type NotificationMessage,
  service,
  shape,
} from '@plinth/kernel'

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
  /**
   * Result of `publishedVersions`: only these versions are searched, even if they were replaced, switched off or deleted
   * since then. Default: the published versions.
   */
  readonly versions?: TemplateVersions | undefined
}

/** Numbers of published versions by the id of their template. */
export type TemplateVersions = Readonly<Record<string, number>>

/** One step of the search for a template: the language, how it was compared, and the language of the template found. */
export interface FallbackStep {
  /** BCP 47 tag. */
  readonly locale: string
  /**
   * `exact`: the same tag. `language`: a template without a region in the same language and script. `region`: the same
   * language and script with another region.
   */
  readonly rule: 'exact' | 'language' | 'region'
  /** True if this is the default language, not the requested one. */
  readonly isDefaultLanguage: boolean
  /** Language of the template that was taken. Null if the search continues. */
  readonly found: string | null
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
  /** Files that every mail of the template contains. */
  readonly attachments: readonly MessageFile[]
  /** Needed paths without a value. They are rendered as empty text. `null` is a value. */
  readonly missingVariables: readonly string[]
}

/** A template that was rendered with its test values. */
export interface TemplateSample extends Pick<RenderedTemplate, 'subject' | 'content' | 'html' | 'attachments'> {
  readonly code: string
  /** Code of a channel, or `all`. */
  readonly channel: string
  readonly locale: string
}

/**
 * Finds and renders templates. Operators edit templates under `/api/v1/admin/templates`. A change takes effect
 * immediately on every instance.
 */
export interface Templates {
  /** Returns the enabled template that fits best. */
  find(query: TemplateQuery): Promise<TemplateInfo | undefined>
  /**
   * Returns the versions that are published now, of all channels and languages. A caller that renders later passes them as
   * `TemplateQuery.versions`, so that a change in between does not alter its text. Versions are stored for at least 400
   * days after they were replaced.
   */
  publishedVersions(code: string): Promise<TemplateVersions>
  /**
   * Renders a template with its test values, for a test message.
   *
   * @param id id of the template
   * @param text `draft`: the draft, or the published text if there is none
   * @throws BusinessError "404" `template.unknown`; errors of the publication of a draft and of `render`
   */
  sample(id: number, text: 'draft' | 'published'): Promise<TemplateSample>
  /** Returns the languages that `find` tries, up to the one that it takes. */
  fallback(query: TemplateQuery): Promise<readonly FallbackStep[]>
  /**
   * Renders the template that fits best; undefined if no template fits. Time and output are limited for any values.
   *
   * @throws BusinessError "400" `template.value-refused` if the values are not JSON, too many or too large;
   * `template.output-too-large`; `template.version-unknown` if none of `query.versions` is stored any more
   */
  render(
    query: TemplateQuery & { readonly variables: Readonly<Record<string, TemplateValue>> },
  ): Promise<RenderedTemplate | undefined>
}

/** An object that uses a template, such as a rule. The back office lists these objects. */
export interface TemplateUse {
  readonly code: string
  /** Name for people, such as the name of a rule. */
  readonly name: string
  /** Page of the object, if it has one, and its id. */
  readonly page?: string
  readonly id?: number
}

/** Finds where templates are used. A plugin that stores codes of templates contributes it under its name. */
export interface TemplateUses {
  readonly title: LocalizedText
  /** Returns at most `limit` uses of a template. */
  find(code: string, limit: number): Promise<readonly TemplateUse[]>
}

export const templateUses = extensionPoint<TemplateUses>('template.uses', {
  from: '@plinth/template',
  live: true,
  names: shape.dotted,
  shape: shape.object<TemplateUses>({ title: shape.localized, find: shape.function }),
})

export const templates = service<Templates>('templates', { from: '@plinth/template' })
