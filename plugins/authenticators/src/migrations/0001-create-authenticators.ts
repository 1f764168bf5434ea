import { defineChangeSet } from '@plinth/migrations'

export const createAuthenticators = defineChangeSet({
  id: '0001-create-authenticators',
  up: ({ schema, type }) => [
    schema
      .createTable('authenticator_handle')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('handle', type.text(43), (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('authenticator_handle_user_id_unique').unique().on('authenticator_handle').column('user_id'),
    schema
      .createTable('authenticator_passkey')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('credential_id', type.longText, (c) => c.notNull())
      .addColumn('credential_hash', type.text(64), (c) => c.notNull())
      .addColumn('public_key', type.longText, (c) => c.notNull())
      .addColumn('counter', type.bigint, (c) => c.notNull())
      .addColumn('transports', type.text(128), (c) => c.notNull())
      .addColumn('backup_eligible', type.boolean, (c) => c.notNull())
      .addColumn('backed_up', type.boolean, (c) => c.notNull())
      .addColumn('aaguid', type.text(36), (c) => c.notNull())
      .addColumn('rp_id', type.text(253), (c) => c.notNull())
      .addColumn('name', type.text(64), (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('last_used_at', type.timestamp),
    schema
      .createIndex('authenticator_passkey_credential_hash_unique')
      .unique()
      .on('authenticator_passkey')
      .column('credential_hash'),
    schema.createIndex('authenticator_passkey_user_id_id_index').on('authenticator_passkey').columns(['user_id', 'id']),
    schema
      .createTable('authenticator_totp')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('secret_enc', type.text(255), (c) => c.notNull())
      .addColumn('last_step', type.bigint, (c) => c.notNull())
      .addColumn('failures', type.integer, (c) => c.notNull())
      .addColumn('blocked_at', type.timestamp)
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('authenticator_totp_user_id_unique').unique().on('authenticator_totp').column('user_id'),
    schema
      .createTable('authenticator_recovery_code')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('code_hash', type.text(64), (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('used_at', type.timestamp),
    schema
      .createIndex('authenticator_recovery_code_user_id_code_hash_unique')
      .unique()
      .on('authenticator_recovery_code')
      .columns(['user_id', 'code_hash']),
    schema
      .createTable('authenticator_network')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('network_hash', type.text(64), (c) => c.notNull())
      .addColumn('failures', type.integer, (c) => c.notNull())
      .addColumn('last_success_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex('authenticator_network_user_id_network_hash_unique')
      .unique()
      .on('authenticator_network')
      .columns(['user_id', 'network_hash']),
    schema
      .createIndex('authenticator_network_last_success_at_index')
      .on('authenticator_network')
      .column('last_success_at'),
  ],
})
