import { defineChangeSet } from '@plinth/migrations'

export const createIdentity = defineChangeSet({
  id: '0001-create-identity',
  up: ({ schema, type }) => [
    schema
      .createTable('iam_user')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('username', type.text(64), (c) => c.notNull())
      .addColumn('username_key', type.text(128), (c) => c.notNull())
      .addColumn('email', type.text(254))
      .addColumn('email_key', type.text(254))
      .addColumn('mobile', type.text(16))
      .addColumn('password_hash', type.text(255))
      .addColumn('enabled', type.boolean, (c) => c.notNull())
      .addColumn('org_id', type.id)
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('last_login_at', type.timestamp),
    schema.createIndex('iam_user_username_key_unique').unique().on('iam_user').column('username_key'),
    schema.createIndex('iam_user_email_key_unique').unique().on('iam_user').column('email_key'),
    schema.createIndex('iam_user_mobile_unique').unique().on('iam_user').column('mobile'),
    schema.createIndex('iam_user_org_id_index').on('iam_user').column('org_id'),

    schema
      .createTable('iam_role')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(64), (c) => c.notNull())
      .addColumn('name', type.text(128), (c) => c.notNull())
      .addColumn('description', type.text(500))
      .addColumn('data_scope', type.text(8), (c) => c.notNull())
      .addColumn('built_in', type.boolean, (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('iam_role_code_unique').unique().on('iam_role').column('code'),

    schema
      .createTable('iam_permission')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(128), (c) => c.notNull())
      .addColumn('plugin', type.text(128), (c) => c.notNull())
      .addColumn('name', type.text(255), (c) => c.notNull()),
    schema.createIndex('iam_permission_code_unique').unique().on('iam_permission').column('code'),

    schema
      .createTable('iam_user_role')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('user_id', type.id, (c) => c.notNull())
      .addColumn('role_id', type.id, (c) => c.notNull()),
    schema
      .createIndex('iam_user_role_user_id_role_id_unique')
      .unique()
      .on('iam_user_role')
      .columns(['user_id', 'role_id']),
    schema.createIndex('iam_user_role_role_id_index').on('iam_user_role').column('role_id'),

    schema
      .createTable('iam_role_permission')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('role_id', type.id, (c) => c.notNull())
      .addColumn('permission_code', type.text(128), (c) => c.notNull()),
    schema
      .createIndex('iam_role_permission_role_id_permission_code_unique')
      .unique()
      .on('iam_role_permission')
      .columns(['role_id', 'permission_code']),
  ],
})
