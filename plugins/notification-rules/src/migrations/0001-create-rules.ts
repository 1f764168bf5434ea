import { defineChangeSet } from '@plinth/migrations'

export const createRules = defineChangeSet({
  id: '0001-create-rules',
  up: ({ schema, type }) => [
    schema
      .createTable('notification_rule')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(128), (c) => c.notNull())
      .addColumn('enabled', type.boolean, (c) => c.notNull())
      .addColumn('threshold_count', type.integer, (c) => c.notNull())
      .addColumn('threshold_window_ms', type.bigint)
      .addColumn('dedupe_window_ms', type.bigint)
      .addColumn('silence_window_ms', type.bigint)
      .addColumn('channels', type.json, (c) => c.notNull())
      .addColumn('recipient_user_ids', type.json, (c) => c.notNull())
      .addColumn('escalation_enabled', type.boolean, (c) => c.notNull())
      .addColumn('escalation_after_ms', type.bigint)
      .addColumn('escalation_dedupe_window_ms', type.bigint)
      .addColumn('escalation_channels', type.json, (c) => c.notNull())
      .addColumn('escalation_recipient_user_ids', type.json, (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
    schema.createIndex('notification_rule_code_unique').unique().on('notification_rule').column('code'),
    ...[
      ['enabled', 'id'],
      ['enabled', 'code', 'id'],
      ['created_at', 'id'],
      ['enabled', 'created_at', 'id'],
    ].map((columns) =>
      schema
        .createIndex(`notification_rule_${columns.join('_')}_index`)
        .on('notification_rule')
        .columns(columns),
    ),
    schema
      .createTable('notification_rule_state')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('state_key', type.text(64), (c) => c.notNull())
      .addColumn('code', type.text(128), (c) => c.notNull())
      .addColumn('dedupe_key', type.text(200), (c) => c.notNull())
      .addColumn('counted', type.bigint, (c) => c.notNull())
      .addColumn('window_started_at_ms', type.bigint, (c) => c.notNull())
      .addColumn('last_sent_at_ms', type.bigint)
      .addColumn('unresolved_since_ms', type.bigint)
      .addColumn('last_escalated_at_ms', type.bigint)
      .addColumn('expires_at_ms', type.bigint, (c) => c.notNull()),
    schema
      .createIndex('notification_rule_state_state_key_unique')
      .unique()
      .on('notification_rule_state')
      .column('state_key'),
    schema
      .createIndex('notification_rule_state_expires_at_ms_id_index')
      .on('notification_rule_state')
      .columns(['expires_at_ms', 'id']),
  ],
})
