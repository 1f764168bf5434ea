import { currentVersion, id, instant, line, nullable, Type, text, version } from '@plinth/http'
import { htmlFormats, sourceLimits } from './compile/source.ts'
import { Template } from './entities.ts'
import { allChannels } from './template-service.ts'

const code = Type.String({
  maxLength: 128,
  pattern: '^[a-z0-9][a-z0-9._:-]*$',
  description: 'Code under which messages use the template.',
})
const channel = Type.String({
  maxLength: 64,
  pattern: '^[a-z][a-z0-9-]*$',
  description: 'Code of a channel, or `all` for channels without their own template.',
})
const locale = Type.String({ minLength: 2, maxLength: 35, description: 'Language as BCP 47 tag.' })
const htmlFormat = Type.Enum([...htmlFormats], {
  description: 'Format of the content. `mjml` is compiled to HTML when the template is saved, in strict mode.',
})

/**
 * Schema of a text with several lines. NUL and unpaired surrogates are rejected, because databases cannot store them.
 */
const lines = (maxLength: number, description: string) =>
  Type.String({ maxLength, pattern: '^[^\\0\\p{Cs}]*$', description })

export const content = Type.Object({
  subject: line(sourceLimits.subject, {
    description: 'Handlebars template of the subject, a single line. Values are not escaped.',
  }),
  content: lines(sourceLimits.content, 'Plain text, in Handlebars; values are not escaped.'),
  html: Type.Optional(nullable(lines(sourceLimits.html, 'HTML or MJML, in Handlebars; values are escaped.'))),
  htmlFormat: Type.Optional(nullable(htmlFormat)),
  enabled: Type.Optional(Type.Boolean({ default: true })),
})

/** A template in lists. */
export const templateItem = Template.customShape({
  view: Type.Object({
    id,
    code: text,
    channel: text,
    locale: text,
    subject: text,
    htmlFormat: nullable(htmlFormat),
    variables: Type.Array(text, { description: 'Variables that the template needs.' }),
    enabled: Type.Boolean(),
    version: currentVersion,
    createdAt: instant,
    updatedAt: instant,
    updatedBy: nullable(
      Type.String({
        description: 'User who made the last change. Null if this user is outside the data scope of the caller.',
      }),
    ),
  }),
})

/** A template with its texts. A change replaces all of them. */
export const templateJson = Template.customShape({
  view: Type.Object({ ...templateItem.schemas.view.properties, content: text, html: nullable(text) }),
  create: Type.Object({ code, channel: { ...channel, default: allChannels }, locale, ...content.properties }),
  change: Type.Object({ ...content.properties, version }),
})

/** Parameters of the list. */
export const templateQuery = {
  code: Type.Optional(code),
  channel: Type.Optional(channel),
  locale: Type.Optional(locale),
  enabled: Type.Optional(Type.Boolean()),
  keyword: Type.Optional(line(100, { description: 'Part of the code or subject.' })),
}
