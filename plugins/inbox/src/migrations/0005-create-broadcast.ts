import { defineChangeSet } from '@plinth/migrations'
import { categories } from '../contract.ts'

const batch = 1_000

/** Prepares messages to all users. Categories that users have switched off already stay off for these messages. */
export const createBroadcast = defineChangeSet({
  id: '0005-create-broadcast',
  up: ({ schema, type }) => [
    schema.alterTable('notification_inbox_content').addColumn('audience', type.text(16)),
    schema.alterTable('notification_inbox_content').addColumn('user_id_limit', type.id),
    schema.alterTable('notification_inbox_content').addColumn('module', type.text(64)),
    schema.alterTable('notification_inbox_content').addColumn('category', type.text(64)),
    schema
      .createTable('notification_inbox_mark')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('content_id', type.id, (c) => c.notNull())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('read_at', type.timestamp)
      .addColumn('removed_at', type.timestamp),
    schema
      .createIndex('notification_inbox_mark_content_id_user_id_unique')
      .unique()
      .on('notification_inbox_mark')
      .columns(['content_id', 'user_id']),
    schema
      .createTable('notification_inbox_opt_out')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('category', type.text(64), (c) => c.notNull())
      .addColumn('after_id', type.id, (c) => c.notNull())
      .addColumn('until_id', type.id),
    ...(
      [
        ['content', 'audience', 'id'],
        ['mark', 'user_id', 'id'],
        ['opt_out', 'user_id', 'category'],
        ['opt_out', 'until_id'],
      ] as const
    ).map(([table, ...columns]) =>
      schema
        .createIndex(`notification_inbox_${table}_${columns.join('_')}_index`)
        .on(`notification_inbox_${table}`)
        .columns(columns),
    ),
  ],
  data: async ({ db, newId }) => {
    const switches = ['database_enabled', ...categories.map((category) => `${category}_enabled`)]
    for (let last = 0; ; ) {
      const users = await db
        .selectFrom('notification_preference')
        .select(['user_id', ...switches])
        .where('user_id', '>', last)
        .where((where) => where.or(switches.map((name) => where(name, '=', false))))
        .orderBy('user_id')
        .limit(batch)
        .execute()
      const isOff = (value: unknown) => Number(value) === 0
      const rows = users.flatMap((user) =>
        [
          ...(isOff(user['database_enabled']) ? ['all'] : []),
          ...categories.filter((one) => isOff(user[`${one}_enabled`])),
        ].map((category) => ({ id: newId(), user_id: user['user_id'], category, after_id: 0 })),
      )
      if (rows.length > 0) await db.insertInto('notification_inbox_opt_out').values(rows).execute()
      if (users.length < batch) break
      last = Number(users.at(-1)?.['user_id'])
    }
  },
})
