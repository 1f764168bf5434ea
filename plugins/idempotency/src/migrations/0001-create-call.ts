import { defineChangeSet } from '@plinth/migrations'

export const createCall = defineChangeSet({
  id: '0001-create-call',
  up: ({ schema, type }) => [
    schema
      .createTable('idempotency_call')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('name', type.text(64), (c) => c.notNull())
      .addColumn('record', type.longText, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('idempotency_call_name_unique').unique().on('idempotency_call').column('name'),
    schema.createIndex('idempotency_call_created_at_index').on('idempotency_call').column('created_at'),
  ],
})
