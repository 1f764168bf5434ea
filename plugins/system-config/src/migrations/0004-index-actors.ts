import { defineChangeSet } from '@plinth/migrations'

export const indexActors = defineChangeSet({
  id: '0004-index-actors',
  up: ({ schema }) => [
    schema.createIndex('sys_config_history_actor').on('sys_config_history').columns(['actor', 'version']),
    schema.createIndex('sys_config_history_user').on('sys_config_history').columns(['actor_user_id', 'version']),
  ],
})
