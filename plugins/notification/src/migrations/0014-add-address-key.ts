import { defineChangeSet } from '@plinth/migrations'

/** Adds the key under which the suppression list stores the address of a send. It is a keyed hash, not the address. */
export const addAddressKey = defineChangeSet({
  id: '0014-add-address-key',
  up: ({ schema, type }) => [schema.alterTable('notification_send_log').addColumn('address_key', type.text(64))],
})
