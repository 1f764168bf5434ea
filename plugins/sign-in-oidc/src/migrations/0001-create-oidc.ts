import { defineChangeSet } from '@plinth/migrations'

export const createOidc = defineChangeSet({
  id: '0001-create-oidc',
  up: ({ schema, type }) => [
    schema
      .createTable('oidc_identity')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('provider', type.text(32), (c) => c.notNull())
      .addColumn('issuer', type.text(255), (c) => c.notNull())
      .addColumn('issuer_key', type.text(32), (c) => c.notNull())
      .addColumn('subject', type.text(255), (c) => c.notNull())
      .addColumn('label', type.text(128), (c) => c.notNull())
      .addColumn('email_domain', type.text(255))
      .addColumn('granted_role_ids', type.json, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('last_sign_in_at', type.timestamp),
    schema
      .createIndex('oidc_identity_issuer_key_subject_unique')
      .unique()
      .on('oidc_identity')
      .columns(['issuer_key', 'subject']),
    schema.createIndex('oidc_identity_user_id_id_index').on('oidc_identity').columns(['user_id', 'id']),
    schema
      .createTable('oidc_sign_in')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('session_id', type.id)
      .addColumn('provider', type.text(32), (c) => c.notNull())
      .addColumn('issuer_key', type.text(32), (c) => c.notNull())
      .addColumn('subject', type.text(255), (c) => c.notNull())
      .addColumn('sid', type.text(255))
      .addColumn('id_token', type.longText)
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('expires_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('oidc_sign_in_issuer_key_sid_index').on('oidc_sign_in').columns(['issuer_key', 'sid']),
    schema.createIndex('oidc_sign_in_issuer_key_subject_index').on('oidc_sign_in').columns(['issuer_key', 'subject']),
    schema.createIndex('oidc_sign_in_session_id_index').on('oidc_sign_in').column('session_id'),
    schema.createIndex('oidc_sign_in_user_id_index').on('oidc_sign_in').column('user_id'),
    schema.createIndex('oidc_sign_in_expires_at_index').on('oidc_sign_in').column('expires_at'),
    schema
      .createTable('oidc_rule')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('provider', type.text(32), (c) => c.notNull())
      .addColumn('issuer', type.text(255), (c) => c.notNull())
      .addColumn('client_id', type.text(255), (c) => c.notNull())
      .addColumn('claim', type.text(255), (c) => c.notNull())
      .addColumn('form', type.text(16), (c) => c.notNull())
      .addColumn('value', type.text(255), (c) => c.notNull())
      .addColumn('role_id', type.id)
      .addColumn('org_id', type.bigint)
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
    schema.createIndex('oidc_rule_provider_id_index').on('oidc_rule').columns(['provider', 'id']),
  ],
})
