import { defineChangeSet } from '@plinth/migrations'

/** Adds the proof of an external identity. Null for identities of earlier releases, which did not store it. */
export const storeProofs = defineChangeSet({
  id: '0012-store-proofs',
  up: ({ schema, type }) => [schema.alterTable('iam_external_identity').addColumn('proof', type.text(64))],
})
