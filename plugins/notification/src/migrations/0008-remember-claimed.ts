import { defineChangeSet } from '@plinth/migrations'

/** What a claimed row was before, so that it is that again when the claim comes to nothing. */
export const rememberClaimed = defineChangeSet({
  id: '0008-remember-claimed',
  up: ({ schema, type }) => [schema.alterTable('notification_send_log').addColumn('claimed_from', type.text(16))],
})
