import { defineChangeSet } from '@plinth/migrations'

export const addReaderFormat = defineChangeSet({
  id: '0003-add-reader-format',
  up: ({ schema, type }) => [
    schema.alterTable('notification_preference').addColumn('locale', type.text(35)),
    schema.alterTable('notification_preference').addColumn('time_zone', type.text(64)),
  ],
})
