import { defineChangeSet } from '@plinth/migrations'

/** Stores which user a permission change concerns, so that the sessions of other users stay cached. */
export const nameChangedUsers = defineChangeSet({
  id: '0009-name-changed-users',
  up: ({ schema, type }) => [
    schema
      .createTable('iam_authority_change')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id)
      .addColumn('changed_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('iam_authority_change_changed_at_index').on('iam_authority_change').column('changed_at'),
  ],
})
