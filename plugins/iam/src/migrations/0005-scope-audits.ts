import { defineChangeSet } from '@plinth/migrations'
import { sql } from 'kysely'

/** Position of the id in the column `actor`, which contains `user:<id>` for a user. Positions in SQL start at 1. */
const idStart = 'user:'.length + 1

/**
 * Adds the user id of the actor as a number, so that audit records can be restricted to the data scope of the reader.
 */
export const scopeAudits = defineChangeSet({
  id: '0005-scope-audits',
  up: ({ schema, type }) => [
    schema.alterTable('iam_audit').addColumn('actor_user_id', type.id),
    schema.createIndex('iam_audit_actor_user_id_index').on('iam_audit').column('actor_user_id'),
  ],
  data: async ({ db }) => {
    await sql`update iam_audit set actor_user_id = cast(substr(actor, ${sql.lit(idStart)}) as decimal(20, 0))
      where actor like 'user:%'`.execute(db)
  },
})
