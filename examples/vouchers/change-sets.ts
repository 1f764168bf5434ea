import { defineChangeSet } from '@plinth/migrations'

export const createVoucher = defineChangeSet({
  id: '0001-create-voucher',
  up: ({ schema, type }) => [
    schema
      .createTable('example_voucher')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(20), (c) => c.notNull())
      .addColumn('holder_id', type.id)
      .addColumn('value', type.bigint, (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('valid_until', type.timestamp)
      .addColumn('note', type.text(100))
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
    schema.createIndex('example_voucher_code_unique').on('example_voucher').column('code').unique(),
    schema.createIndex('example_voucher_holder_id_id_index').on('example_voucher').columns(['holder_id', 'id']),
    schema.createIndex('example_voucher_status_id_index').on('example_voucher').columns(['status', 'id']),
  ],
})
