import { defineChangeSet } from '@plinth/migrations'

export const createRecovery = defineChangeSet({
  id: '0001-create-recovery',
  up: ({ schema, type }) => [
    schema
      .createTable('iam_recovery_token')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('token_hash', type.text(64), (c) => c.notNull())
      .addColumn('purpose', type.text(16), (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('address', type.text(254), (c) => c.notNull())
      .addColumn('state', type.text(64), (c) => c.notNull())
      .addColumn('inviter_id', type.id)
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('expires_at', type.timestamp, (c) => c.notNull())
      .addColumn('used_at', type.timestamp),
    schema.createIndex('iam_recovery_token_token_hash_unique').unique().on('iam_recovery_token').column('token_hash'),
    schema
      .createIndex('iam_recovery_token_user_id_purpose_unique')
      .unique()
      .on('iam_recovery_token')
      .columns(['user_id', 'purpose']),
    schema.createIndex('iam_recovery_token_inviter_id_index').on('iam_recovery_token').column('inviter_id'),
    schema.createIndex('iam_recovery_token_expires_at_index').on('iam_recovery_token').column('expires_at'),
  ],
})
