import { defineChangeSet } from '@plinth/migrations'

/** How an external identity was proven. Null for the identities of earlier releases: it was not stored. */
export const storeProofs = defineChangeSet({
  id: '0012-store-proofs',
  up: ({ schema, type }) => [schema.alterTable('iam_external_identity').addColumn('proof', type.text(64))],
})
