import { defineChangeSet } from '@plinth/migrations'

export const createSystemConfig = defineChangeSet({
  id: '0001-create-system-config',
  up: ({ schema, type }) => [
    schema
      .createTable('sys_config')
      .addColumn('config_key', type.text(200), (c) => c.primaryKey().notNull())
      .addColumn('config_value', type.longText, (c) => c.notNull())
      .addColumn('master_key_id', type.text(16))
      .addColumn('sensitive', type.boolean, (c) => c.notNull())
      .addColumn('version', type.bigint, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128), (c) => c.notNull()),
    schema
      .createTable('sys_config_history')
      .addColumn('config_key', type.text(200), (c) => c.notNull())
      .addColumn('version', type.bigint, (c) => c.notNull())
      .addColumn('old_value', type.longText)
      .addColumn('old_master_key_id', type.text(16))
      .addColumn('new_value', type.longText)
      .addColumn('new_master_key_id', type.text(16))
      .addColumn('sensitive', type.boolean, (c) => c.notNull())
      .addColumn('origin', type.text(16), (c) => c.notNull())
      .addColumn('actor', type.text(128), (c) => c.notNull())
      .addColumn('reason', type.text(200))
      .addColumn('trace_id', type.text(128))
      .addColumn('changed_at', type.timestamp, (c) => c.notNull())
      .addPrimaryKeyConstraint('sys_config_history_pkey', ['config_key', 'version']),
    schema.createIndex('sys_config_history_version').on('sys_config_history').column('version'),
    schema
      .createTable('sys_config_version')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('version', type.bigint, (c) => c.notNull())
      .addColumn('changed_at', type.timestamp, (c) => c.notNull()),
    schema
      .createTable('sys_config_instance')
      .addColumn('id', type.text(36), (c) => c.primaryKey().notNull())
      .addColumn('host', type.text(128), (c) => c.notNull())
      .addColumn('pid', type.integer, (c) => c.notNull())
      .addColumn('roles', type.text(64), (c) => c.notNull())
      .addColumn('version', type.bigint, (c) => c.notNull())
      .addColumn('report', type.longText, (c) => c.notNull())
      .addColumn('started_at', type.timestamp, (c) => c.notNull())
      .addColumn('seen_at', type.timestamp, (c) => c.notNull()),
  ],
  data: async ({ db, now }) => {
    await db
      .insertInto('sys_config_version')
      .values({ id: 1, version: 0, changed_at: new Date(now()) })
      .execute()
  },
})
