import { defineChangeSet } from '@plinth/migrations'

export const createApiTokens = defineChangeSet({
  id: '0014-create-api-tokens',
  up: ({ schema, type }) => [
    schema
      .createTable('iam_api_token')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('name', type.text(100), (c) => c.notNull())
      .addColumn('token_hash', type.text(64), (c) => c.notNull())
      .addColumn('first_characters', type.text(4), (c) => c.notNull())
      .addColumn('permissions', type.json, (c) => c.notNull())
      .addColumn('data_scope', type.text(8), (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('expires_at', type.timestamp, (c) => c.notNull())
      .addColumn('notice_at', type.timestamp)
      .addColumn('last_used_at', type.timestamp)
      .addColumn('last_used_network', type.text(64))
      .addColumn('revoked_at', type.timestamp),
    schema.createIndex('iam_api_token_token_hash_unique').unique().on('iam_api_token').column('token_hash'),
    schema.createIndex('iam_api_token_user_id_id_index').on('iam_api_token').columns(['user_id', 'id']),
    schema.createIndex('iam_api_token_expires_at_index').on('iam_api_token').column('expires_at'),
    schema.createIndex('iam_api_token_revoked_at_index').on('iam_api_token').column('revoked_at'),
    schema.createIndex('iam_api_token_notice_at_index').on('iam_api_token').column('notice_at'),
  ],
})
