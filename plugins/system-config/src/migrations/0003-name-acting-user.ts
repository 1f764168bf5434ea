import { defineChangeSet } from '@plinth/migrations'

export const nameActingUser = defineChangeSet({
  id: '0003-name-acting-user',
  up: ({ schema, type }) => [schema.alterTable('sys_config_history').addColumn('actor_user_id', type.id)],
})
