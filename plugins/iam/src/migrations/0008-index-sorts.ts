import { defineChangeSet } from '@plinth/migrations'
import { sql } from 'kysely'

export const indexSorts = defineChangeSet({
  id: '0008-index-sorts',
  up: ({ schema, type }) => [
    schema.alterTable('iam_user').addColumn('email_folded', type.text(254), (c) => c.notNull().defaultTo('')),
    schema.createIndex('iam_user_email_folded_index').on('iam_user').column('email_folded'),
    schema.createIndex('iam_user_created_at_index').on('iam_user').column('created_at'),
    schema.createIndex('iam_user_last_login_at_index').on('iam_user').column('last_login_at'),
    schema.createIndex('iam_audit_target_type_id_index').on('iam_audit').columns(['target_type', 'id']),
  ],
  data: async ({ db }) => {
    await sql`update iam_user set email_folded = lower(email) where email is not null`.execute(db)
  },
})
