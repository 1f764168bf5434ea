import { defineChangeSet } from '@plinth/migrations'

/** Adds the state that a provider reports after it accepted a message, and the reference by which reports find a row. */
export const addDeliveryState = defineChangeSet({
  id: '0013-add-delivery-state',
  up: ({ schema, type }) => {
    const table = 'notification_send_log'
    const indexOn = (...columns: [string, ...string[]]) =>
      schema
        .createIndex(`${table}_${columns.join('_')}_index`)
        .on(table)
        .columns(columns)
    return [
      schema.alterTable(table).addColumn('reference', type.text(40)),
      schema.alterTable(table).addColumn('delivery_state', type.text(16)),
      schema.alterTable(table).addColumn('bounce_kind', type.text(8)),
      schema.alterTable(table).addColumn('delivery_times', type.json),
      schema.alterTable(table).addColumn('delivery_detail', type.text(255)),
      indexOn('reference'),
      indexOn('provider', 'message_id'),
      indexOn('delivery_state', 'id'),
      indexOn('status', 'delivery_state', 'id'),
    ]
  },
})
