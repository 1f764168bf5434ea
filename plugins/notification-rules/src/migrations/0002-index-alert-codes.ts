import { defineChangeSet } from '@plinth/migrations'

/** Adds an index to count the alerts of a rule. They are counted so that new dedupe keys cannot fill the table. */
export const indexAlertCodes = defineChangeSet({
  id: '0002-index-alert-codes',
  up: ({ schema }) => [
    schema.createIndex('notification_rule_state_code_id_index').on('notification_rule_state').columns(['code', 'id']),
  ],
})
