import { defineChangeSet } from '@plinth/migrations'

/** Adds an index that also contains the id. Without the id, MariaDB would sort the rows. */
export const indexDays = defineChangeSet({
  id: '0004-index-days',
  up: ({ schema }) => [
    schema.createIndex('points_day_asset_day_id_index').on('points_day').columns(['asset', 'day', 'id']),
  ],
})
