import type { InferEntity } from '@mikro-orm/core'
import { type Database, erasedName, personalTable } from '@plinth/database'
import { Type, text } from '@plinth/http'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { c, table } from '@plinth/table'
import { sourceLimits } from './compile/source.ts'

/** A template for one channel and language, which operators edit. */
export const Template = table(
  'message_template',
  {
    id: c.id(),
    code: c.text(128).fixed(),
    /** Channel code, or `all`. */
    channel: c.text(64).fixed(),
    /** Canonical BCP 47 tag. */
    locale: c.text(35).fixed(),
    subject: c.text(sourceLimits.subject),
    content: c.longText(sourceLimits.content),
    html: c.longText(sourceLimits.html).nullable(),
    htmlFormat: c.choice({ html: ['HTML', 'HTML'], mjml: ['MJML', 'MJML'] }, 8).nullable(),
    /** JSON of a `CompiledTemplate`. */
    compiled: c.longText(sourceLimits.compiledHtml).internal(),
    /** Variables of the template, stored so that lists can show them without reading the compiled form. */
    variables: c.json(Type.Array(text)).readOnly(),
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

/** Tables with personal data. The content of a template is not about the user, so it is not exported. */
export const templateTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, Template.entity, {
    title: bilingual('Templates that the user changed last', '用户最后修改的模板'),
    owner: { username: 'updated_by' },
    omit: ['subject', 'content', 'html', 'compiled', 'variables'],
    erasure: 'anonymised',
    set: { updatedBy: erasedName },
    reason: bilingual('The template belongs to the product.', '模板属于产品。'),
  }),
]
