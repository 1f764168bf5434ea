import { defineChangeSet } from '@plinth/migrations'

/** State of a claimed row before the claim, to restore it if the retry does not begin. */
export const rememberClaimed = defineChangeSet({
  id: '0008-remember-claimed',
  up: ({ schema, type }) => [schema.alterTable('notification_send_log').addColumn('claimed_from', type.text(16))],
})
