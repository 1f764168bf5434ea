import { defineChangeSet } from '@plinth/migrations'

export const createWebhooks = defineChangeSet({
  id: '0001-create-webhooks',
  up: ({ schema, type }) => [
    schema
      .createTable('webhook_endpoint')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('name', type.text(100), (c) => c.notNull())
      .addColumn('url', type.text(768), (c) => c.notNull())
      .addColumn('description', type.text(500))
      .addColumn('event_types', type.json, (c) => c.notNull())
      .addColumn('owner_id', type.id, (c) => c.notNull())
      .addColumn('authorized_by', type.id, (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('status_reason', type.text(16))
      .addColumn('status_note', type.text(200))
      .addColumn('failing_since', type.timestamp)
      .addColumn('failed_attempts', type.integer, (c) => c.notNull())
      .addColumn('secret_enc', type.text(255), (c) => c.notNull())
      .addColumn('previous_secret_enc', type.text(255))
      .addColumn('previous_valid_until', type.timestamp)
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
    schema.createIndex('webhook_endpoint_owner_id_id_index').on('webhook_endpoint').columns(['owner_id', 'id']),
    schema.createIndex('webhook_endpoint_status_id_index').on('webhook_endpoint').columns(['status', 'id']),

    schema
      .createTable('webhook_subscription')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('event_type', type.text(100), (c) => c.notNull())
      .addColumn('endpoint_id', type.id, (c) => c.notNull()),
    schema
      .createIndex('webhook_subscription_event_type_endpoint_id_unique')
      .unique()
      .on('webhook_subscription')
      .columns(['event_type', 'endpoint_id']),
    schema.createIndex('webhook_subscription_endpoint_id_index').on('webhook_subscription').column('endpoint_id'),

    schema
      .createTable('webhook_delivery')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('endpoint_id', type.id, (c) => c.notNull())
      .addColumn('event_type', type.text(100), (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('attempts', type.integer, (c) => c.notNull())
      .addColumn('next_at', type.timestamp, (c) => c.notNull())
      .addColumn('finished_at', type.timestamp)
      .addColumn('last_reason', type.text(64))
      .addColumn('body', type.longText, (c) => c.notNull())
      .addColumn('attempt_log', type.json, (c) => c.notNull())
      .addColumn('step', type.integer, (c) => c.notNull())
      .addColumn('lease_token', type.text(36))
      .addColumn('subject_user_id', type.id)
      .addColumn('subject_org_id', type.id),
    ...(
      [
        ['endpoint_id', 'status', 'next_at'],
        ['endpoint_id', 'id'],
        ['status', 'next_at'],
        ['status', 'id'],
        ['event_type', 'id'],
        ['subject_user_id', 'id'],
        ['created_at'],
      ] as const
    ).map((columns) =>
      schema
        .createIndex(`webhook_delivery_${columns.join('_')}_index`)
        .on('webhook_delivery')
        .columns([...columns]),
    ),
  ],
})
