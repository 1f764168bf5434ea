import { defineChangeSet } from '@plinth/migrations'

/** Adds the claim of the idempotency key with which an operator sent a message. */
export const linkClaim = defineChangeSet({
  id: '0011-link-claim',
  up: ({ schema, type }) => {
    const table = 'notification_message'
    return [
      schema.alterTable(table).addColumn('claim_id', type.id),
      schema.createIndex(`${table}_claim_id_unique`).unique().on(table).column('claim_id'),
    ]
  },
})
