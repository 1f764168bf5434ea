import { defineChangeSet } from '@plinth/migrations'

export const createInstall = defineChangeSet({
  id: '0001-create-install',
  up: ({ schema, type }) => [
    schema
      .createTable('install_session')
      .addColumn('id', type.text(36), (c) => c.primaryKey())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('started_at', type.timestamp, (c) => c.notNull())
      .addColumn('ended_at', type.timestamp)
      .addColumn('retried_session_id', type.text(36), (c) => c.notNull())
      .addColumn('failed_step', type.text(128), (c) => c.notNull())
      .addColumn('message', type.longText, (c) => c.notNull())
      .addColumn('client_ip', type.text(64), (c) => c.notNull()),
    schema.createIndex('install_session_started_at_index').on('install_session').column('started_at'),

    schema
      .createTable('install_record')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('session_id', type.text(36), (c) => c.notNull())
      .addColumn('step_code', type.text(128), (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('message', type.longText, (c) => c.notNull())
      .addColumn('occurred_at', type.timestamp, (c) => c.notNull()),
    schema
      .createIndex('install_record_session_id_occurred_at_index')
      .on('install_record')
      .columns(['session_id', 'occurred_at']),
    schema.createIndex('install_record_occurred_at_index').on('install_record').column('occurred_at'),

    schema
      .createTable('install_audit')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('occurred_at', type.timestamp, (c) => c.notNull())
      .addColumn('action', type.text(64), (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('session_id', type.text(64), (c) => c.notNull())
      .addColumn('operator', type.text(128), (c) => c.notNull())
      .addColumn('client_ip', type.text(64), (c) => c.notNull())
      .addColumn('user_agent', type.text(255), (c) => c.notNull())
      .addColumn('trace_id', type.text(128), (c) => c.notNull())
      .addColumn('summary', type.json, (c) => c.notNull()),
    schema.createIndex('install_audit_occurred_at_index').on('install_audit').column('occurred_at'),

    schema
      .createTable('install_state')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('installed', type.boolean, (c) => c.notNull())
      .addColumn('session_id', type.text(36), (c) => c.notNull())
      .addColumn('changed_at', type.timestamp)
      .addColumn('changed_by', type.text(128), (c) => c.notNull())
      .addColumn('holder', type.text(36), (c) => c.notNull())
      .addColumn('holder_space', type.text(64), (c) => c.notNull())
      .addColumn('holder_pid', type.integer, (c) => c.notNull())
      .addColumn('held_until', type.bigint, (c) => c.notNull()),
  ],
  data: async ({ db }) => {
    await db
      .insertInto('install_state')
      .values({
        id: 1,
        installed: false,
        session_id: '',
        changed_by: '',
        holder: '',
        holder_space: '',
        holder_pid: 0,
        held_until: 0,
      })
      .execute()
  },
})
