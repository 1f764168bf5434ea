import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, erasedName, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import type { HtmlFormat } from './compile/source.ts'

/** A template for one channel and language, which operators edit. */
export const TemplateRow = defineEntity({
  name: 'MessageTemplate',
  tableName: 'message_template',
  uniques: [{ properties: ['code', 'channel', 'locale'] }],
  indexes: [
    { properties: ['code', 'id'] },
    { properties: ['channel', 'id'] },
    { properties: ['locale', 'id'] },
    { properties: ['enabled', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    code: column.text(128),
    /** Channel code, or `all`. */
    channel: column.text(64),
    /** Canonical BCP 47 tag. */
    locale: column.text(35),
    subject: column.text(500),
    content: column.longText(),
    html: column.longText().nullable(),
    htmlFormat: column.text(8).$type<HtmlFormat>().nullable(),
    /** JSON of a `CompiledTemplate`. */
    compiled: column.longText(),
    /** Variables of the template, stored so that lists can show them without reading the compiled form. */
    variables: column.json<string[]>(),
    enabled: column.boolean(),
    version: column.integer(),
    createdAt: column.timestamp(),
    updatedAt: column.timestamp(),
    /** User name of the operator at the time of the last change. */
    updatedBy: column.text(128),
  },
})
export type TemplateRow = InferEntity<typeof TemplateRow>

/** Tables with personal data. The content of a template is not about the user, so it is not exported. */
export const templateTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, TemplateRow, {
    title: bilingual('Templates that the user changed last', '用户最后修改的模板'),
    owner: { username: 'updated_by' },
    omit: ['subject', 'content', 'html', 'compiled', 'variables'],
    erasure: 'anonymised',
    set: { updatedBy: erasedName },
    reason: bilingual('The template belongs to the product.', '模板属于产品。'),
  }),
]
