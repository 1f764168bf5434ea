import { defineChangeSet } from '@plinth/migrations'

/** Adds the last proof of identity to sessions. It is null for sessions of earlier releases, which count as unproven. */
export const storeSessionProofs = defineChangeSet({
  id: '0013-store-session-proofs',
  up: ({ schema, type }) => [
    schema.alterTable('iam_token').addColumn('proven_at', type.timestamp),
    schema.alterTable('iam_token').addColumn('proven_by', type.text(32)),
  ],
})
