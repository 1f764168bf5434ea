import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
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
