import { defineChangeSet } from '@plinth/migrations'

export const createViews = defineChangeSet({
  id: '0002-create-views',
  up: ({ schema, type }) => [
    schema
      .createTable('console_view')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('page', type.text(64), (c) => c.notNull())
      .addColumn('role_id', type.id, (c) => c.notNull())
      .addColumn('name', type.text(60), (c) => c.notNull())
      .addColumn('search', type.longText, (c) => c.notNull())
      .addColumn('is_default', type.boolean)
      .addColumn('changed_by_user_id', type.id, (c) => c.notNull())
      .addColumn('changed_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex('console_view_page_role_id_name_unique')
      .unique()
      .on('console_view')
      .columns(['page', 'role_id', 'name']),
    schema
      .createIndex('console_view_page_role_id_is_default_unique')
      .unique()
      .on('console_view')
      .columns(['page', 'role_id', 'is_default']),
    schema.createIndex('console_view_role_id_index').on('console_view').column('role_id'),
    schema.createIndex('console_view_changed_by_user_id_index').on('console_view').column('changed_by_user_id'),
  ],
})
