import { defineChangeSet } from '@plinth/migrations'

export const createPreference = defineChangeSet({
  id: '0002-create-preference',
  up: ({ schema, type }) => [
    schema
      .createTable('notification_preference')
      .addColumn('user_id', type.id, (c) => c.primaryKey())
      .addColumn('database_enabled', type.boolean, (c) => c.notNull())
      .addColumn('websocket_enabled', type.boolean, (c) => c.notNull())
      .addColumn('email_enabled', type.boolean, (c) => c.notNull())
      .addColumn('sms_enabled', type.boolean, (c) => c.notNull())
      .addColumn('system_enabled', type.boolean, (c) => c.notNull())
      .addColumn('account_enabled', type.boolean, (c) => c.notNull())
      .addColumn('todo_enabled', type.boolean, (c) => c.notNull())
      .addColumn('chat_enabled', type.boolean, (c) => c.notNull())
      .addColumn('blog_enabled', type.boolean, (c) => c.notNull())
      .addColumn('forum_enabled', type.boolean, (c) => c.notNull())
      .addColumn('mall_enabled', type.boolean, (c) => c.notNull())
      .addColumn('marketing_enabled', type.boolean, (c) => c.notNull())
      .addColumn('quiet_time_zone', type.text(64))
      .addColumn('quiet_start', type.integer)
      .addColumn('quiet_end', type.integer)
      .addColumn('updated_at', type.timestamp, (c) => c.notNull()),
  ],
})
