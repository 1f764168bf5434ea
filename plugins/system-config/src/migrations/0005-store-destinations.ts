import { defineChangeSet } from '@plinth/migrations'

/** Adds the destination next to each secret. It is null for secrets of earlier versions. */
export const storeDestinations = defineChangeSet({
  id: '0005-store-destinations',
  up: ({ schema, type }) => [
    schema.alterTable('sys_config').addColumn('destination', type.longText),
    schema.alterTable('sys_config_history').addColumn('old_destination', type.longText),
    schema.alterTable('sys_config_history').addColumn('new_destination', type.longText),
  ],
})
