import { defineChangeSet } from '@plinth/migrations'

const order = 'money_payment_order'

/** Adds the proven payer, and indexes for pending orders by transaction and by payer. */
export const namePayers = defineChangeSet({
  id: '0002-name-payers',
  up: ({ schema, type }) => [
    schema.alterTable(order).addColumn('payer', type.text(128)),
    schema.alterTable(order).addColumn('payer_proof', type.text(16)),
    schema.createIndex(`${order}_transaction_hash_status_index`).on(order).columns(['transaction_hash', 'status']),
    schema.createIndex(`${order}_payer_status_index`).on(order).columns(['payer', 'status']),
    schema
      .createIndex(`${order}_provider_status_paid_at_id_index`)
      .on(order)
      .columns(['provider', 'status', 'paid_at', 'id']),
  ],
})
