import type { InferEntity } from '@mikro-orm/core'
import { type Database, erasedName, personalTable } from '@plinth/database'
import { Type, text } from '@plinth/http'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { c, table } from '@plinth/table'
import type { Static } from 'typebox'
import { sourceLimits } from './compile/source.ts'

/** A file that every mail of the template contains, on a disk of `@plinth/storage`. */
export const attachment = Type.Object({
  name: text,
  disk: text,
  path: text,
  contentId: Type.Optional(text),
})
export type TemplateAttachment = Static<typeof attachment>

/** The columns that a draft, a published version and the template have in common. */
const source = {
  subject: c.text(sourceLimits.subject),
  content: c.longText(sourceLimits.content),
  html: c.longText(sourceLimits.html).nullable(),
  htmlFormat: c.choice({ html: ['HTML', 'HTML'], mjml: ['MJML', 'MJML'] }, 8).nullable(),
  attachments: c.json(Type.Array(attachment)).nullable().readOnly(),
  /** Values of variables for previews and test messages. */
  testValues: c.json(Type.Record(Type.String(), Type.Unknown())).nullable(),
}

/** Columns that identify a template. */
const place = {
  code: c.text(128).fixed(),
  /** Channel code, or `all`. */
  channel: c.text(64).fixed(),
  /** Canonical BCP 47 tag. */
  locale: c.text(35).fixed(),
}

const compiled = {
  /** JSON of a `CompiledTemplate`. */
  compiled: c.longText(sourceLimits.compiledHtml).internal(),
  /** Variables of the template, stored so that lists can show them without reading the compiled form. */
  variables: c.json(Type.Array(text)).readOnly(),
}

/** A template for one channel and language. It contains a copy of its published version, whose number is `version`. */
export const Template = table(
  'message_template',
  {
    id: c.id(),
    ...place,
    ...source,
    ...compiled,
    enabled: c.flag(),
    ...c.edits(),
    /** User name of the operator at the time of the last change. */
    updatedBy: c.text(128).readOnly(),
  },
  {
    title: { one: ['Message template', '消息模板'], many: ['Message templates', '消息模板'] },
    owner: 'none',
    uniques: [{ columns: ['code', 'channel', 'locale'], reason: 'taken' }],
    indexes: [
      ['code', 'id'],
      ['channel', 'id'],
      ['locale', 'id'],
      ['enabled', 'id'],
    ],
  },
)
export type TemplateRow = InferEntity<typeof Template.entity>

/** The text that operators work on until they publish it. A template has at most one. It need not compile. */
export const TemplateDraft = table(
  'message_template_draft',
  {
    id: c.id(),
    templateId: c.reference('template.template').fixed(),
    ...source,
    /** Number of the published version that the editor of the draft has seen. */
    baseVersion: c.integer({ min: 1 }),
    ...c.edits(),
  },
  {
    title: { one: ['Template draft', '模板草稿'], many: ['Template drafts', '模板草稿'] },
    owner: 'none',
    uniques: [{ columns: ['templateId'] }],
  },
)
export type TemplateDraftRow = InferEntity<typeof TemplateDraft.entity>

/**
 * A published version. It never changes, except for the time of its end. Code, channel and language are stored here too,
 * so that waiting messages can use the version of a deleted template.
 */
export const TemplateVersion = table(
  'message_template_version',
  {
    id: c.id(),
    templateId: c.reference('template.template').fixed().title('Template', '模板'),
    number: c.integer({ min: 1 }).readOnly().title('Version', '版本'),
    ...place,
    ...source,
    ...compiled,
    note: c.text(500).nullable().title('Note', '说明'),
    createdAt: c.createdAt().title('Published', '发布时间'),
    createdBy: c.text(128).nullable().readOnly().title('Published by', '发布人'),
    /** Time when the next version was published, or the template was deleted. */
    supersededAt: c.time().nullable().readOnly().title('Replaced', '被取代时间'),
  },
  {
    title: { one: ['Template version', '模板版本'], many: ['Template versions', '模板版本'] },
    owner: 'none',
    uniques: [{ columns: ['templateId', 'number'] }],
    indexes: [['templateId', 'id'], ['templateId', 'createdAt', 'id'], ['supersededAt']],
  },
)
export type TemplateVersionRow = InferEntity<typeof TemplateVersion.entity>

const texts = ['subject', 'content', 'html', 'attachments', 'testValues'] as const
const unexported = [...texts, 'compiled', 'variables'] as const
const belongsToProduct = bilingual('The template belongs to the product.', '模板属于产品。')

/** Tables with personal data. The content of a template is not about the user, so it is not exported. */
export const templateTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, Template.entity, {
    title: bilingual('Templates that the user changed last', '用户最后修改的模板'),
    owner: { username: 'updated_by' },
    omit: [...unexported],
    erasure: 'anonymised',
    set: { updatedBy: erasedName },
    reason: belongsToProduct,
  }),
  personalTable(db, TemplateDraft.entity, {
    title: bilingual('Drafts of templates that the user changed last', '用户最后修改的模板草稿'),
    owner: { username: 'updated_by' },
    omit: [...texts],
    erasure: 'anonymised',
    set: { updatedBy: erasedName },
    reason: belongsToProduct,
  }),
  personalTable(db, TemplateVersion.entity, {
    title: bilingual('Versions of templates that the user published', '用户发布的模板版本'),
    owner: { username: 'created_by' },
    omit: [...unexported],
    erasure: 'anonymised',
    set: { createdBy: erasedName },
    reason: belongsToProduct,
  }),
]
