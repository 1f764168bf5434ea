import { defineChangeSet } from '@plinth/migrations'
import { sql } from 'kysely'

/** Adds drafts, versions, attachments and test values. Each template becomes a version with its current number. */
export const addTemplateVersions = defineChangeSet({
  id: '0002-add-template-versions',
  up: ({ schema, type }) => [
    schema.alterTable('message_template').addColumn('attachments', type.json),
    schema.alterTable('message_template').addColumn('test_values', type.json),
    schema
      .createTable('message_template_draft')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('template_id', type.id, (c) => c.notNull())
      .addColumn('subject', type.text(500), (c) => c.notNull())
      .addColumn('content', type.longText, (c) => c.notNull())
      .addColumn('html', type.longText)
      .addColumn('html_format', type.text(8))
      .addColumn('attachments', type.json)
      .addColumn('test_values', type.json)
      .addColumn('base_version', type.integer, (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
    schema
      .createIndex('message_template_draft_template_id_unique')
      .unique()
      .on('message_template_draft')
      .column('template_id'),
    schema
      .createTable('message_template_version')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('template_id', type.id, (c) => c.notNull())
      .addColumn('number', type.integer, (c) => c.notNull())
      .addColumn('code', type.text(128), (c) => c.notNull())
      .addColumn('channel', type.text(64), (c) => c.notNull())
      .addColumn('locale', type.text(35), (c) => c.notNull())
      .addColumn('subject', type.text(500), (c) => c.notNull())
      .addColumn('content', type.longText, (c) => c.notNull())
      .addColumn('html', type.longText)
      .addColumn('html_format', type.text(8))
      .addColumn('attachments', type.json)
      .addColumn('test_values', type.json)
      .addColumn('compiled', type.longText, (c) => c.notNull())
      .addColumn('variables', type.json, (c) => c.notNull())
      .addColumn('note', type.text(500))
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('created_by', type.text(128))
      .addColumn('superseded_at', type.timestamp),
    schema
      .createIndex('message_template_version_template_id_number_unique')
      .unique()
      .on('message_template_version')
      .columns(['template_id', 'number']),
    ...[['template_id', 'id'], ['template_id', 'created_at', 'id'], ['superseded_at']].map((columns) =>
      schema
        .createIndex(`message_template_version_${columns.join('_')}_index`)
        .on('message_template_version')
        .columns(columns),
    ),
  ],
  data: async ({ db }) => {
    // The id of a template is unique, so it is also the id of its first stored version.
    await sql`insert into message_template_version
        (id, template_id, number, code, channel, locale, subject, content, html, html_format, compiled, variables,
         created_at, created_by)
      select id, id, version, code, channel, locale, subject, content, html, html_format, compiled, variables,
         updated_at, updated_by from message_template`.execute(db)
  },
})
