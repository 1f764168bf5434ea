import type { Translator } from '@plinth/i18n'
import {
  type ConfigView,
  key,
  type Logger,
  type NotificationChannel,
  type NotificationMessage,
  type TextRange,
} from '@plinth/kernel'
import type { FallbackStep, RenderedTemplate, Templates } from '@plinth/template'
import { businessError } from './declarations.ts'

export const textParams = (variables: NotificationMessage['variables']): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, typeof value === 'number' ? value : String(value ?? '')]),
  )

/**
 * Characters that mark inserted values until their positions are known. These noncharacters of Unicode never occur in
 * texts.
 */
const [opened, closed] = ['\uFDD0', '\uFDD1']
const marks = /[\uFDD0\uFDD1]/g

const marked = (params: Record<string, string | number>): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name,
      typeof value === 'number' ? value : `${opened}${value.replace(marks, '')}${closed}`,
    ]),
  )

function unmarked(text: string): { readonly text: string; readonly ranges: readonly TextRange[] } {
  const [first = '', ...valued] = text.split(opened)
  let shown = first
  const ranges = valued.flatMap((piece): TextRange[] => {
    const [value = '', rest = ''] = piece.split(closed)
    const start = shown.length
    shown += value + rest
    return value === '' ? [] : [[start, start + value.length]]
  })
  return { text: shown, ranges }
}

/**
 * Translates subject and content, which may be keys of translations: `messages.<path>` or `{messages.<path>}` (document
 * 2 of the specification, "Message"). A key without a translation stays unchanged.
 */
export function translateMessage(
  message: NotificationMessage,
  translator: Pick<Translator, 'negotiate' | 'resolve'>,
): NotificationMessage {
  const { subject, content, valueRanges, locale, variables } = message
  if (!mayBeKey(subject) && !mayBeKey(content)) return message
  const language = translator.negotiate(locale)
  const params = marked(textParams(variables))
  const resolve = (text: string, ranges: readonly TextRange[] = []) => {
    const resolved = translator.resolve(language, text, params)
    return resolved === text ? { text, ranges } : unmarked(resolved)
  }
  const [line, body] = [resolve(subject, valueRanges?.subject), resolve(content, valueRanges?.content)]
  const ranges = { subject: line.ranges, content: body.ranges }
  return { ...message, subject: line.text, content: body.text, valueRanges: ranges }
}

export const mayBeKey = (text: string) => text.startsWith('messages.') || text.startsWith('{messages.')

/**
 * Replaces unpaired surrogates, which have no UTF-8 form, by U+FFFD. The length does not change, so positions stay
 * valid.
 */
function wellFormed(message: NotificationMessage): NotificationMessage {
  const { subject, content, html, variables, attributes } = message
  if (isWellFormed([subject, content, html, variables, attributes], new Set())) return message
  return {
    ...message,
    subject: subject.toWellFormed(),
    content: content.toWellFormed(),
    ...(html === undefined ? {} : { html: html.toWellFormed() }),
    variables: repaired(variables),
    attributes: repaired(attributes),
  }
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value))

/**
 * True if no text in the value has an unpaired surrogate. @param seen objects that were already checked, so that cycles
 * end
 */
function isWellFormed(value: unknown, seen: Set<unknown>): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (seen.has(value) || !(Array.isArray(value) || isPlain(value))) return true
  seen.add(value)
  return Object.values(value).every((member) => isWellFormed(member, seen))
}

/** Copies a value with repaired texts. @param around enclosing objects; a cycle stays unchanged */
function repaired<T>(value: T): T
function repaired(value: unknown, around?: readonly unknown[]): unknown
function repaired(value: unknown, around: readonly unknown[] = []): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (around.includes(value) || !(Array.isArray(value) || isPlain(value))) return value
  const inside = (member: unknown) => repaired(member, [...around, value])
  if (Array.isArray(value)) return value.map(inside)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inside(member)]))
}

/** Configuration keys of templates (document 2 of the specification, "Configuration"). */
export const renderingKeys = {
  'platform.notification.template.validate-before-send': key.boolean({
    title: { en: 'Check template variables', 'zh-CN': '发送前检查模板变量' },
    description: {
      en: 'Before a message is sent, writes a log line that lists the template variables without a value.',
      'zh-CN': '发送前检查消息是否缺少模板所需的变量，并将其名称写入日志。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.notification.template.fail-on-missing-variables': key.boolean({
    title: { en: 'Reject messages with missing variables', 'zh-CN': '缺少变量时拒绝发送' },
    description: {
      en: 'If a template variable has no value, the message is not sent. Requires "Check template variables".',
      'zh-CN': '消息缺少模板所需的变量时不发送；须启用“发送前检查模板变量”。',
    },
    default: false,
    reload: 'live',
  }),
}

interface MessageRendererDependencies {
  readonly config: Pick<ConfigView<typeof renderingKeys>, 'get'>
  readonly log: Logger
  readonly templates: Templates | undefined
  readonly translator: Translator | undefined
}

interface Preview {
  readonly subject: string
  readonly content: string
  readonly html: string | null
  readonly missingVariables: readonly string[]
  /** Variables of the template, the needed ones first. */
  readonly variables: readonly { readonly name: string; readonly needed: boolean }[]
  /** Language of the template. Null if no template fits. */
  readonly templateLocale: string | null
  /** Languages that were tried, in this order. Empty if the message has no template. */
  readonly fallback: readonly FallbackStep[]
}

type Traits = Pick<NotificationChannel['traits'], 'texts'>

/** Renders the template of a message (document 2 of the specification, "Template rules"), or translates its texts. */
export class MessageRenderer {
  readonly #parts: MessageRendererDependencies

  constructor(parts: MessageRendererDependencies) {
    this.#parts = parts
  }

  /**
   * Fills the template of a message. If it has none, returns no promise, so that the send starts without delay. If the
   * template is unknown, the message remains unchanged.
   *
   * @throws BusinessError "400" `notification.variables-missing` with `data.missingVariables`, if
   * `platform.notification.template.fail-on-missing-variables` is true; errors of `Templates.render`
   */
  fill(
    message: NotificationMessage,
    channel: string,
    traits: Traits,
  ): Promise<NotificationMessage> | NotificationMessage {
    const rendering = this.#render(message, channel)
    if (rendering === undefined) return this.#shown(message, undefined, traits)
    return rendering.then((rendered) => {
      if (rendered !== undefined) this.#check(rendered, message, channel)
      return this.#shown(message, rendered, traits)
    })
  }

  /**
   * Returns the message with the versions of its template that are published now. A message that is stored keeps them, so
   * that it is sent as it was written.
   */
  async withVersions(message: NotificationMessage): Promise<NotificationMessage> {
    const { template: code, templateVersions } = message
    const { templates } = this.#parts
    if (!isWritten(code) || templateVersions !== undefined || templates === undefined) return message
    return { ...message, templateVersions: await templates.publishedVersions(code) }
  }

  /** Like `fill`, even if variables are missing. Sends nothing and logs nothing. */
  async preview(message: NotificationMessage, channel: string, traits: Traits): Promise<Preview> {
    const rendered = await this.#render(message, channel)
    const { subject, content, html = null } = this.#shown(message, rendered, traits)
    const { variables = [], optionalVariables = [], locale: templateLocale = null } = rendered?.template ?? {}
    const query = queryOf(message, channel)
    return {
      fallback: (query && (await this.#parts.templates?.fallback(query))) ?? [],
      subject,
      content,
      html,
      missingVariables: rendered?.missingVariables ?? [],
      variables: [
        ...variables.map((name) => ({ name, needed: true })),
        ...optionalVariables.map((name) => ({ name, needed: false })),
      ],
      templateLocale,
    }
  }

  #shown(message: NotificationMessage, rendered: RenderedTemplate | undefined, { texts }: Traits): NotificationMessage {
    const { translator } = this.#parts
    const filled = rendered === undefined ? message : withTexts(message, rendered)
    return wellFormed(
      translator === undefined || texts === 'as-written' ? filled : translateMessage(filled, translator),
    )
  }

  #render(message: NotificationMessage, channel: string): Promise<RenderedTemplate | undefined> | undefined {
    const query = queryOf(message, channel)
    return query && this.#parts.templates?.render({ ...query, variables: nested(message.variables) })
  }

  #check({ missingVariables, template }: RenderedTemplate, { id }: NotificationMessage, channel: string): void {
    const { config, log } = this.#parts
    const validates = config.get('platform.notification.template.validate-before-send')
    if (!validates || missingVariables.length === 0) return
    const { code, version } = template
    if (config.get('platform.notification.template.fail-on-missing-variables')) {
      const params = { template: code, variables: missingVariables.join(', ') }
      throw businessError('variables-missing', { params, data: { template: code, channel, missingVariables } })
    }
    const about = { messageId: id, channel, template: code, version, missingVariables }
    log.warn(about, 'a message lacks variables of its template')
  }
}

const isWritten = (code: string | undefined): code is string => code !== undefined && code.trim() !== ''

/** Returns the search for the template of a message; undefined if it has none. */
function queryOf({ template, locale, timeZone, templateVersions }: NotificationMessage, channel: string) {
  if (!isWritten(template)) return undefined
  return { code: template, channel, locale, timeZone, versions: templateVersions }
}

interface Members {
  [name: string]: Members | string | number | boolean | null
}

/**
 * Converts dotted names to nested members, because templates use paths and the variables of a message are flat:
 * `user.name` becomes the member `name` of `user`. A name below another variable is left out.
 */
function nested(variables: NotificationMessage['variables']): Members {
  const root: Members = Object.create(null)
  // Shorter names come first, so that a variable is set before the names below it.
  const sorted = Object.entries(variables).toSorted(([one], [other]) => one.length - other.length)
  for (const [name, value] of sorted) put(root, name.split('.'), value)
  return root
}

function put(members: Members, [name = '', ...rest]: readonly string[], value: Members[string]): void {
  if (rest.length === 0) {
    members[name] = value
    return
  }
  members[name] ??= Object.create(null)
  const inner = members[name]
  // A value of the message may be an object too. It must not change.
  if (typeof inner === 'object' && inner !== null && Object.getPrototypeOf(inner) === null) put(inner, rest, value)
}

/**
 * Replaces the texts of a message by those of the template. The HTML of the sender is removed, because it belongs to
 * the replaced text.
 */
function withTexts({ html: _, ...message }: NotificationMessage, rendered: RenderedTemplate): NotificationMessage {
  const { subject, content, valueRanges, html, attachments } = rendered
  const files = attachments.length === 0 ? {} : { files: [...(message.files ?? []), ...attachments] }
  return { ...message, subject, content, valueRanges, ...files, ...(html === undefined ? {} : { html }) }
}
