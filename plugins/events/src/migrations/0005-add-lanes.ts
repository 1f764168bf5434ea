import { defineChangeSet } from '@plinth/migrations'

/** The default applies to events that instances of the previous version publish during the upgrade. */
export const addLanes = defineChangeSet({
  id: '0005-add-lanes',
  up: ({ schema, type }) => [
    schema.alterTable('outbox_event').addColumn('lane', type.text(16), (c) => c.notNull().defaultTo('database')),
    schema
      .createIndex('outbox_event_status_lane_next_at_id_index')
      .on('outbox_event')
      .columns(['status', 'lane', 'next_at', 'id']),
  ],
})
