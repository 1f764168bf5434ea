import { defineChangeSet } from '@plinth/migrations'

/** Adds the state of a row before its claim. The state is restored if the process dies before the retry. */
export const storeClaimedState = defineChangeSet({
  id: '0008-remember-claimed',
  up: ({ schema, type }) => [schema.alterTable('notification_send_log').addColumn('claimed_from', type.text(16))],
})
