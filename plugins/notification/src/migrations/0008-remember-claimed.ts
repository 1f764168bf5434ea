import { defineChangeSet } from '@plinth/migrations'

/** State of a row before its claim, to restore it. */
export const rememberClaimed = defineChangeSet({
  id: '0008-remember-claimed',
  up: ({ schema, type }) => [schema.alterTable('notification_send_log').addColumn('claimed_from', type.text(16))],
})
