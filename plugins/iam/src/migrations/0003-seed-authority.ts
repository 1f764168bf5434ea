import { defineChangeSet } from '@plinth/migrations'

/** Creates the built-in role, and the row that counts permission changes. */
export const seedAuthority = defineChangeSet({
  id: '0003-seed-authority',
  up: ({ schema, type }) => [
    schema
      .createTable('iam_epoch')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('epoch', type.bigint, (c) => c.notNull()),
  ],
  data: async ({ db, newId, now }) => {
    const moment = new Date(now())
    await db.insertInto('iam_epoch').values({ id: 1, epoch: 1 }).execute()
    await db
      .insertInto('iam_role')
      .values({
        id: newId(),
        code: 'super-admin',
        name: 'Super administrator',
        data_scope: 'all',
        built_in: true,
        version: 1,
        created_at: moment,
        updated_at: moment,
      })
      .execute()
  },
})
