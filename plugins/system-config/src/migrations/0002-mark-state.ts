import { defineChangeSet } from '@plinth/migrations'

export const markState = defineChangeSet({
  id: '0002-mark-state',
  up: ({ schema, type }) => [schema.alterTable('sys_config').addColumn('state_of', type.text(128))],
})
