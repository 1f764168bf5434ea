import { defineChangeSet } from '@plinth/migrations'

/** Adds the reason that an administrator stated to the audit. */
export const storeAuditReasons = defineChangeSet({
  id: '0011-keep-reasons',
  up: ({ schema, type }) => [schema.alterTable('iam_audit').addColumn('reason', type.text(200))],
})
