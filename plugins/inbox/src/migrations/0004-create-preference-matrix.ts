import { defineChangeSet } from '@plinth/migrations'

export const createPreferenceMatrix = defineChangeSet({
  id: '0004-create-preference-matrix',
  up: ({ schema, type }) => [
    schema
      .createTable('notification_preference_cell')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('channel', type.text(64), (c) => c.notNull())
      .addColumn('category', type.text(64), (c) => c.notNull())
      .addColumn('enabled', type.boolean, (c) => c.notNull()),
    schema
      .createIndex('notification_preference_cell_user_id_channel_category_unique')
      .unique()
      .on('notification_preference_cell')
      .columns(['user_id', 'channel', 'category']),
    schema
      .createTable('notification_preference_default')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('channel', type.text(64), (c) => c.notNull())
      .addColumn('category', type.text(64), (c) => c.notNull())
      .addColumn('enabled', type.boolean, (c) => c.notNull())
      .addColumn('locked', type.boolean, (c) => c.notNull()),
    schema
      .createIndex('notification_preference_default_channel_category_unique')
      .unique()
      .on('notification_preference_default')
      .columns(['channel', 'category']),
  ],
})
