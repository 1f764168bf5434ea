import { defineChangeSet } from '@plinth/migrations'

const order = 'money_payment_order'

/** Adds the index from which payments over time are added up without reading the orders. */
export const indexPaid = defineChangeSet({
  id: '0003-index-paid',
  up: ({ schema }) => [
    schema.createIndex(`${order}_paid_at_asset_amount_index`).on(order).columns(['paid_at', 'asset', 'amount']),
  ],
})
