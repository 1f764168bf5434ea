import { defineChangeSet } from '@plinth/migrations'

/**
 * Adds second factors and devices to sessions, rules for the sessions of a role, sign-ins that wait for a second factor,
 * and the devices from which users signed in before.
 */
export const prepareFactors = defineChangeSet({
  id: '0015-prepare-factors',
  up: ({ schema, type }) => [
    schema.alterTable('iam_token').addColumn('second_factor', type.text(32)),
    schema.alterTable('iam_token').addColumn('device_name', type.text(100)),
    schema.alterTable('iam_role').addColumn('second_factor_from', type.timestamp),
    schema.alterTable('iam_role').addColumn('session_lifetime', type.bigint),
    schema.alterTable('iam_role').addColumn('session_idle_timeout', type.bigint),
    schema
      .createTable('iam_pending_sign_in')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('token_hash', type.text(64), (c) => c.notNull())
      .addColumn('method', type.text(32), (c) => c.notNull())
      .addColumn('state', type.text(64), (c) => c.notNull())
      .addColumn('is_proof', type.boolean, (c) => c.notNull())
      .addColumn('failures', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('expires_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('iam_pending_sign_in_token_hash_unique').unique().on('iam_pending_sign_in').column('token_hash'),
    schema.createIndex('iam_pending_sign_in_user_id_index').on('iam_pending_sign_in').column('user_id'),
    schema.createIndex('iam_pending_sign_in_expires_at_index').on('iam_pending_sign_in').column('expires_at'),
    schema
      .createTable('iam_known_device')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('secret_hash', type.text(64), (c) => c.notNull())
      .addColumn('name', type.text(100), (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('last_seen_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex('iam_known_device_user_id_secret_hash_unique')
      .unique()
      .on('iam_known_device')
      .columns(['user_id', 'secret_hash']),
    schema.createIndex('iam_known_device_last_seen_at_index').on('iam_known_device').column('last_seen_at'),
  ],
})
