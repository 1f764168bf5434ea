import { currentVersion, id, instant, line, nullable, Type, text, version } from '@plinth/http'
import { htmlFormats, sourceLimits } from './compile/source.ts'
import { attachment, Template, TemplateVersion } from './entities.ts'
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
  testValues: Type.Optional(
    nullable(
      Type.Record(Type.String({ maxLength: 128 }), Type.Unknown(), {
        description:
          'Values of variables for previews and test messages, as JSON. Everyone who may view templates can read them, so they must not be secret.',
      }),
    ),
  ),
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

const longTexts = {
  content: text,
  html: nullable(text),
  testValues: nullable(Type.Record(Type.String(), Type.Unknown())),
  attachments: nullable(Type.Array(attachment, { description: 'Files that every mail of the template contains.' })),
}

/** A template with its texts. A change replaces all of them. */
export const templateJson = Template.customShape({
  view: Type.Object({ ...templateItem.schemas.view.properties, ...longTexts }),
  create: Type.Object({ code, channel: { ...channel, default: allChannels }, locale, ...content.properties }),
  change: Type.Object({ ...content.properties, version }),
})

const versionView = {
  id,
  templateId: id,
  number: currentVersion,
  code: text,
  channel: text,
  locale: text,
  subject: text,
  htmlFormat: nullable(htmlFormat),
  variables: Type.Array(text),
  note: nullable(text),
  createdAt: instant,
  createdBy: nullable(text, { description: 'User who published the version.' }),
  supersededAt: nullable(instant, {
    description:
      'Time when the next version was published, or the template was deleted. Null for the published version.',
  }),
}

/** A published version in lists. */
export const versionItem = TemplateVersion.customShape({ view: Type.Object(versionView) })
/** A published version with its texts. */
export const versionJson = TemplateVersion.customShape({ view: Type.Object({ ...versionView, ...longTexts }) })

const { enabled: _, ...draftFields } = content.properties

/** Fields of a draft. */
export const draftBody = Type.Object({
  ...draftFields,
  baseVersion: Type.Integer({ minimum: 1, description: 'Number of the published version that the editor has seen.' }),
  version: Type.Integer({
    minimum: 0,
    description: 'Version of the draft that the editor has seen. 0: there was none.',
  }),
})

export const draftView = Type.Object({
  id,
  code: text,
  channel: text,
  locale: text,
  exists: Type.Boolean({ description: 'False if there is no draft. The texts are then the published ones.' }),
  subject: text,
  htmlFormat: nullable(htmlFormat),
  ...longTexts,
  baseVersion: Type.Integer({ description: 'Number of the published version that the editor of the draft has seen.' }),
  publishedVersion: currentVersion,
  version: Type.Integer({ description: 'Version of the draft; 0 if there is none.' }),
  updatedAt: nullable(instant),
  updatedBy: nullable(text, { description: 'User who changed the draft last.' }),
})

/** Parameters of the list. */
export const templateQuery = {
  code: Type.Optional(code),
  channel: Type.Optional(channel),
  locale: Type.Optional(locale),
  enabled: Type.Optional(Type.Boolean()),
  keyword: Type.Optional(line(100, { description: 'Part of the code or subject.' })),
}
