import { defineChangeSet } from '@plinth/migrations'

/** Adds the proof of an external identity. It is null for identities of earlier releases. */
export const storeProofs = defineChangeSet({
  id: '0012-store-proofs',
  up: ({ schema, type }) => [schema.alterTable('iam_external_identity').addColumn('proof', type.text(64))],
})
