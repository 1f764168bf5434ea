import { defineChangeSet } from '@plinth/migrations'

/** Index for the order of the list, with the id as last column. Without it, MariaDB sorts the rows. */
export const indexDays = defineChangeSet({
  id: '0004-index-days',
  up: ({ schema }) => [
    schema.createIndex('points_day_asset_day_id_index').on('points_day').columns(['asset', 'day', 'id']),
  ],
})
