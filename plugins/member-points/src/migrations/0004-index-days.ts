import { defineChangeSet } from '@plinth/migrations'

/** The order of the list, with the id that makes it total: MariaDB sorts by a unique index and the id otherwise. */
export const indexDays = defineChangeSet({
  id: '0004-index-days',
  up: ({ schema }) => [
    schema.createIndex('points_day_asset_day_id_index').on('points_day').columns(['asset', 'day', 'id']),
  ],
})
