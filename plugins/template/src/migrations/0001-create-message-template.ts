import { defineChangeSet } from '@plinth/migrations'

export const createMessageTemplate = defineChangeSet({
  id: '0001-create-message-template',
  up: ({ schema, type }) => [
    schema
      .createTable('message_template')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(128), (c) => c.notNull())
      .addColumn('channel', type.text(64), (c) => c.notNull())
      .addColumn('locale', type.text(35), (c) => c.notNull())
      .addColumn('subject', type.text(500), (c) => c.notNull())
      .addColumn('content', type.longText, (c) => c.notNull())
      .addColumn('html', type.longText)
      .addColumn('html_format', type.text(8))
      .addColumn('compiled', type.longText, (c) => c.notNull())
      .addColumn('variables', type.json, (c) => c.notNull())
      .addColumn('enabled', type.boolean, (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128), (c) => c.notNull()),
    schema
      .createIndex('message_template_code_channel_locale_unique')
      .unique()
      .on('message_template')
      .columns(['code', 'channel', 'locale']),
    schema.createIndex('message_template_code_id_index').on('message_template').columns(['code', 'id']),
    schema.createIndex('message_template_channel_id_index').on('message_template').columns(['channel', 'id']),
    schema.createIndex('message_template_locale_id_index').on('message_template').columns(['locale', 'id']),
    schema.createIndex('message_template_enabled_id_index').on('message_template').columns(['enabled', 'id']),
  ],
})
