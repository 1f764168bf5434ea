import { defineChangeSet } from '@plinth/migrations'

/** Adds the last message of an alert, whose outcome opens the windows again, and the data scope of a rule. */
export const followOutcomes = defineChangeSet({
  id: '0003-follow-outcomes',
  up: ({ schema, type }) => [
    schema.alterTable('notification_rule_state').addColumn('last_message_id', type.id),
    schema.alterTable('notification_rule').addColumn('saved_by_id', type.id),
    schema.alterTable('notification_rule').addColumn('saved_scope', type.text(8)),
    schema.alterTable('notification_rule').addColumn('saved_org_id', type.id),
  ],
})
