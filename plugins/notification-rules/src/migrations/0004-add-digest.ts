import { defineChangeSet } from '@plinth/migrations'

/** Adds the digest that collects the messages of a rule. */
export const addDigest = defineChangeSet({
  id: '0004-add-digest',
  up: ({ schema, type }) => [schema.alterTable('notification_rule').addColumn('digest', type.text(128))],
})
