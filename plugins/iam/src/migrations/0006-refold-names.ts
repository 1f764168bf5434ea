import { defineChangeSet } from '@plinth/migrations'

const batch = 1_000

/**
 * Copy of the folding rule of account-names.ts at the time of this change set. An applied change set must not change
 * when the rule changes.
 */
const folded = (name: string) => name.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')

/**
 * Counts rejected logins, and folds names more strictly. If two names become equal, the second user keeps the old
 * folded name until an administrator renames the user.
 */
export const foldNamesMoreStrictly = defineChangeSet({
  id: '0006-refold-names',
  up: ({ schema, type }) => [
    schema.alterTable('iam_login_audit').addColumn('attempts', type.integer, (c) => c.notNull().defaultTo(1)),
  ],
  data: async ({ db, signal }) => {
    for (let last = 0; ; ) {
      signal.throwIfAborted()
      const users = await db
        .selectFrom('iam_user')
        .select(['id', 'username', 'username_key'])
        .where('id', '>', last)
        .orderBy('id')
        .limit(batch)
        .execute()
      for (const { id, username, username_key: key } of users) {
        last = Number(id)
        const expected = folded(String(username))
        if (expected === key) continue
        const taken = await db.selectFrom('iam_user').select('id').where('username_key', '=', expected).execute()
        if (taken.length === 0) {
          await db.updateTable('iam_user').set({ username_key: expected }).where('id', '=', id).execute()
        }
      }
      if (users.length < batch) return
    }
  },
})
