import { defineChangeSet } from '@plinth/migrations'

export const createOpenPlatform = defineChangeSet({
  id: '0001-create-open-platform',
  up: ({ schema, type }) => [
    schema
      .createTable('open_app')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('app_key', type.text(32), (c) => c.notNull())
      .addColumn('name', type.text(128), (c) => c.notNull())
      .addColumn('description', type.text(500))
      .addColumn('secret_enc', type.text(255), (c) => c.notNull())
      .addColumn('previous_secret_enc', type.text(255))
      .addColumn('previous_valid_until', type.timestamp)
      .addColumn('scopes', type.json, (c) => c.notNull())
      .addColumn('rate_limit_per_minute', type.integer)
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('owner_user_id', type.id)
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('open_app_app_key_unique').unique().on('open_app').column('app_key'),

    schema
      .createTable('open_call')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('call_key', type.text(64), (c) => c.notNull())
      .addColumn('app_id', type.id, (c) => c.notNull())
      .addColumn('app_key', type.text(32), (c) => c.notNull())
      .addColumn('method', type.text(8), (c) => c.notNull())
      .addColumn('route', type.text(255), (c) => c.notNull())
      .addColumn('day', type.text(10), (c) => c.notNull())
      .addColumn('cost', type.integer, (c) => c.notNull())
      .addColumn('quota_limit', type.integer, (c) => c.notNull())
      .addColumn('code', type.text(16))
      .addColumn('duration_ms', type.integer)
      .addColumn('occurred_at', type.timestamp, (c) => c.notNull())
      .addColumn('trace_id', type.text(128), (c) => c.notNull()),
    schema.createIndex('open_call_call_key_unique').unique().on('open_call').column('call_key'),
    schema.createIndex('open_call_app_id_day_index').on('open_call').columns(['app_id', 'day']),
    schema.createIndex('open_call_day_index').on('open_call').column('day'),
  ],
})
