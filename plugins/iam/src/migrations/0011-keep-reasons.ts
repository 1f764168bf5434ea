import { defineChangeSet } from '@plinth/migrations'

/** Why an administrator did it, as the caller said. */
export const keepReasons = defineChangeSet({
  id: '0011-keep-reasons',
  up: ({ schema, type }) => [schema.alterTable('iam_audit').addColumn('reason', type.text(200))],
})
