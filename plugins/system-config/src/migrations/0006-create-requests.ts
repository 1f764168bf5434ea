import { defineChangeSet } from '@plinth/migrations'

/** Creates the table of changes that wait for the approval of another operator. */
export const createRequests = defineChangeSet({
  id: '0006-create-requests',
  up: ({ schema, type }) => [
    schema
      .createTable('sys_config_request')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('origin', type.text(16), (c) => c.notNull())
      .addColumn('changes', type.longText, (c) => c.notNull())
      .addColumn('secrets', type.longText)
      .addColumn('master_key_id', type.text(16))
      .addColumn('requested_by', type.text(128), (c) => c.notNull())
      .addColumn('requested_by_user_id', type.id, (c) => c.notNull())
      .addColumn('reason', type.text(200))
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('decided_by', type.text(128))
      .addColumn('decided_by_user_id', type.id)
      .addColumn('decision_reason', type.text(200))
      .addColumn('decided_at', type.timestamp),
    schema.createIndex('sys_config_request_status_id_index').on('sys_config_request').columns(['status', 'id']),
    schema
      .createIndex('sys_config_request_requested_by_user_id_status_index')
      .on('sys_config_request')
      .columns(['requested_by_user_id', 'status']),
    schema
      .createIndex('sys_config_request_decided_by_user_id_index')
      .on('sys_config_request')
      .column('decided_by_user_id'),
  ],
})
