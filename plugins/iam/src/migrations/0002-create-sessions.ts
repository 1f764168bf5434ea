import { defineChangeSet } from '@plinth/migrations'

export const createSessions = defineChangeSet({
  id: '0002-create-sessions',
  up: ({ schema, type }) => [
    schema
      .createTable('iam_token')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('token_hash', type.text(64), (c) => c.notNull())
      .addColumn('method', type.text(32), (c) => c.notNull())
      .addColumn('client_ip', type.text(64), (c) => c.notNull())
      .addColumn('user_agent', type.text(255), (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('expires_at', type.timestamp, (c) => c.notNull())
      .addColumn('last_seen_at', type.timestamp, (c) => c.notNull())
      .addColumn('revoked_at', type.timestamp),
    schema.createIndex('iam_token_token_hash_unique').unique().on('iam_token').column('token_hash'),
    schema.createIndex('iam_token_user_id_index').on('iam_token').column('user_id'),
    schema.createIndex('iam_token_expires_at_index').on('iam_token').column('expires_at'),

    schema
      .createTable('iam_login_audit')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('occurred_at', type.timestamp, (c) => c.notNull())
      .addColumn('method', type.text(32), (c) => c.notNull())
      .addColumn('identifier', type.text(64), (c) => c.notNull())
      .addColumn('user_id', type.id)
      .addColumn('success', type.boolean, (c) => c.notNull())
      .addColumn('reason', type.text(128))
      .addColumn('message', type.text(255))
      .addColumn('client_ip', type.text(64), (c) => c.notNull())
      .addColumn('user_agent', type.text(255), (c) => c.notNull())
      .addColumn('trace_id', type.text(128), (c) => c.notNull()),
    schema.createIndex('iam_login_audit_occurred_at_index').on('iam_login_audit').column('occurred_at'),
    schema.createIndex('iam_login_audit_user_id_index').on('iam_login_audit').column('user_id'),

    schema
      .createTable('iam_audit')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('occurred_at', type.timestamp, (c) => c.notNull())
      .addColumn('actor', type.text(64), (c) => c.notNull())
      .addColumn('action', type.text(64), (c) => c.notNull())
      .addColumn('target_type', type.text(32), (c) => c.notNull())
      .addColumn('target_id', type.id, (c) => c.notNull())
      .addColumn('summary', type.json, (c) => c.notNull())
      .addColumn('client_ip', type.text(64), (c) => c.notNull())
      .addColumn('trace_id', type.text(128), (c) => c.notNull()),
    schema.createIndex('iam_audit_occurred_at_index').on('iam_audit').column('occurred_at'),
    schema.createIndex('iam_audit_target_type_target_id_index').on('iam_audit').columns(['target_type', 'target_id']),

    schema
      .createTable('iam_external_identity')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('provider', type.text(32), (c) => c.notNull())
      .addColumn('chain_type', type.text(32), (c) => c.notNull())
      .addColumn('subject', type.text(255), (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex('iam_external_identity_provider_subject_unique')
      .unique()
      .on('iam_external_identity')
      .columns(['provider', 'subject']),
    schema.createIndex('iam_external_identity_user_id_index').on('iam_external_identity').column('user_id'),
  ],
})
